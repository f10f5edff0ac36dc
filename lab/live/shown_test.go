package live

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/history"
	"locklab/lab/testenv"
)

// A run that does not show what it should asks nothing afterwards, and scores nobody. The first one that does is scored, although the
// answers of the other one were shown.
func TestARunThatShowsNothingScoresNobody(t *testing.T) {
	t.Parallel()
	cfg := config(t.TempDir())
	cfg.Class, cfg.Address = &Class{Token: token}, "http://lab.example:8070"
	var fails atomic.Bool
	fails.Store(true)
	i := slices.IndexFunc(cfg.Catalogue, func(e lab.Experiment) bool { return e.ID == "L01-no-expiry" })
	check := cfg.Catalogue[i].Check
	cfg.Catalogue[i].Check = func(trial []history.Event) []history.Violation {
		if fails.Load() {
			return nil
		}
		return check(trial)
	}
	s, base := serve(t, cfg)
	leads, ana := trains(t, base), joined(t, base, "Ana")
	play := func() {
		t.Helper()
		send(t, ana, http.MethodPost, base+"/ui/quiz/scene-3/guess", url.Values{"choice": {"0"}}, nil)
		send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/run", nil, nil)
		testenv.Eventually(t, "the run has ended", func() bool { return s.scene(2).view(viewer{}, nil).Ended })
	}
	play()
	send(t, ana, http.MethodPost, base+"/ui/quiz/L01/guess", url.Values{"choice": {"0"}}, nil)
	send(t, leads, http.MethodPost, base+"/ui/quiz/L01/run", nil, nil)
	testenv.Eventually(t, "the experiment has ended", func() bool { return s.viewQuestion("L01-no-expiry", viewer{}).Waits() })
	asks := func(name string) bool { return s.quizzes[name].view(viewer{}, nil).After.Text != "" }
	if asks("scene-3") || asks("L01-no-expiry") {
		t.Error("a class is asked what was lost in a run that shows nothing")
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/L01/show", nil, nil)
	send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/show", nil, nil)
	if places := s.class.Places(""); places[0].All != 0 {
		t.Errorf("it scores %+v", places)
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/again", nil, nil)
	fails.Store(false)
	play()
	if !asks("scene-3") {
		t.Error("a class is not asked what was lost")
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/show", nil, nil)
	if places := s.class.Places(""); places[0].Right != 1 || places[0].All != 1 {
		t.Errorf("the first run that shows something scores %+v", places)
	}
}

// An answer that is none of the choices, or comes too late, is refused with the
// reason. A visitor cannot answer. When the scene is played again, nothing is asked until its run has ended, and then nobody has
// answered.
func TestAnAnswerAfterTheRun(t *testing.T) {
	t.Parallel()
	s, base := teaching(t)
	leads, ana, ben := trains(t, base), joined(t, base, "Ana"), joined(t, base, "Ben")
	run := func() {
		t.Helper()
		send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/run", nil, nil)
		testenv.Eventually(t, "the class is asked", func() bool {
			return strings.Contains(s.board.get("scene-3", viewer{Role: trainer}), "what was lost?")
		})
	}
	run()
	of := func(c *http.Client) viewer {
		request := httptest.NewRequest(http.MethodGet, base+"/ui/", nil)
		for _, cookie := range c.Jar.Cookies(request.URL) {
			request.AddCookie(cookie)
		}
		return s.viewerOf(request)
	}
	mayAnswer := func(v viewer) bool {
		return strings.Contains(s.board.get("scene-3", v), "<fieldset><legend>Now that you have seen it")
	}
	if !mayAnswer(of(ana)) || mayAnswer(viewer{}) {
		t.Error("Ana cannot answer, or a visitor can")
	}
	send(t, ben, http.MethodPost, base+"/ui/quiz/scene-3/answer", url.Values{"choice": {"1"}}, nil)
	for _, choice := range []string{"", "-1", "3", "x"} {
		status, body := send(t, ana, http.MethodPost, base+"/ui/quiz/scene-3/answer", url.Values{"choice": {choice}}, nil)
		if status != http.StatusBadRequest || !strings.Contains(body, "Choose one of the answers") {
			t.Errorf("the answer %q: %d", choice, status)
		}
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/show", nil, nil)
	for _, path := range []string{"/ui/quiz/scene-3/answer", "/ui/quiz/scene-3/guess"} {
		status, body := send(t, ana, http.MethodPost, base+path, url.Values{"choice": {"1"}}, nil)
		if status != http.StatusConflict || !strings.Contains(body, "too late") {
			t.Errorf("%s after the answers were shown: %d", path, status)
		}
	}
	if mayAnswer(of(ana)) {
		t.Error("the buttons can be pressed when it is too late")
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/again", nil, nil)
	if text := s.board.get("scene-3", of(ana)); strings.Contains(text, "Now that you have seen it") {
		t.Errorf("the scene is asked anew, and shows %s", text)
	}
	run()
	if text := s.board.get("scene-3", of(ana)); !strings.Contains(text, "0 of 2 have answered") {
		t.Errorf("the answers of the last run count: %s", text)
	}
}

// Before the trainer shows the answers, a participant gets no claim of an experiment, no explanation, and no saved run. Nor does the
// page say whether the own guess was right. A new class gets nothing of the class before.
func TestAParticipantGetsNoExplanationBeforeItIsShown(t *testing.T) {
	t.Parallel()
	s, base := teaching(t)
	leads, ana := trains(t, base), joined(t, base, "Ana")
	e, err := s.cfg.Catalogue.Find("L01")
	if err != nil {
		t.Fatal(err)
	}
	send(t, ana, http.MethodPost, base+"/ui/quiz/L01/guess", url.Values{"choice": {"0"}}, nil)
	explained := looksAs(t, ana, base, "L01-no-expiry-run")
	send(t, leads, http.MethodPost, base+"/ui/quiz/L01/run", nil, nil)
	explained.until("L01-no-expiry-run", "as predicted")
	run := "/ui/experiments/L01/runs/" + lab.History(s.cfg.Store, e.ID)[0]
	why, _, _ := strings.Cut(strings.TrimSpace(e.Why), "\n")
	gets := func() string {
		_, page := send(t, ana, http.MethodGet, base+"/ui/experiments/L01", nil, nil)
		_, steps := send(t, ana, http.MethodGet, base+"/ui/steps", nil, nil)
		_, report := send(t, ana, http.MethodGet, base+run, nil, nil)
		return page + steps + report
	}
	for _, secret := range []string{e.Claim, why, "Right is", "history.jsonl", "/runs/2"} {
		if strings.Contains(gets(), secret) {
			t.Errorf("before it is shown Ana gets %q", secret)
		}
	}
	if status, _ := send(t, ana, http.MethodGet, base+run+"/4", nil, nil); status != http.StatusForbidden {
		t.Error("she can replay the saved run:", status)
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/L01/show", nil, nil)
	for _, shown := range []string{e.Claim, "Right is (c)", "history.jsonl"} {
		if !strings.Contains(gets(), shown) {
			t.Errorf("after it is shown Ana does not get %q", shown)
		}
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/run", nil, nil)
	testenv.Eventually(t, "the scene has ended", func() bool { return s.scene(2).view(viewer{}, nil).Ended })
	header := looksAs(t, ana, base, "name")
	header.until("name", "You are Ana")
	send(t, leads, http.MethodPost, base+"/ui/class/reset", nil, nil)
	header.until("name", "Join with a name")
	bob := joined(t, base, "Bob")
	for _, part := range append([]string{"L01-no-expiry-run", "L01-no-expiry"}, sceneParts...) {
		text := s.board.get(part, viewer{})
		for _, old := range []string{e.Claim, "what was lost?", "stays for ever", "expiry, set by"} {
			if strings.Contains(text, old) {
				t.Errorf("a new class gets %q in %s", old, part)
			}
		}
	}
	status, _ := send(t, bob, http.MethodPost, base+"/ui/quiz/scene-3/answer", url.Values{"choice": {"1"}}, nil)
	if status != http.StatusConflict {
		t.Error("the new class answers what the old one was asked:", status)
	}
}

// A new class is not asked about a burst that began before it, and does not get the guesses of the class before.
func TestANewClassKnowsNothingOfTheBurstsBefore(t *testing.T) {
	t.Parallel()
	s, base := teaching(t)
	leads, q := trains(t, base), s.quizzes[burstName]
	row := burst.PageviewRow{
		Judged: burst.Judged{Version: "v1", Verdict: lab.AsExpected}, Counts: burst.Counts{Final: 3, Lost: 17},
	}
	results := &burst.Results{
		Users: 20, Pageview: []burst.PageviewRow{row}, Order: []burst.OrderRow{{Judged: burst.Judged{Verdict: lab.AsExpected}}},
	}
	shows := func() string { return s.board.get(burstName, viewer{}) + s.board.get(burstHistory, viewer{}) }
	send(t, joined(t, base, "Ana"), http.MethodPost, base+"/ui/quiz/burst/guess", url.Values{"guess": {"3"}}, nil)
	endBurst(s, results)
	send(t, leads, http.MethodPost, base+"/ui/quiz/burst/show", nil, nil)
	if text := shows(); !strings.Contains(text, "<td>3 of 20</td></tr>") {
		t.Errorf("the guesses are not shown: %s", text)
	}
	opened := s.questions.Close(q.present())
	send(t, leads, http.MethodPost, base+"/ui/class/reset", nil, nil)
	c := concludeBurst(results, "v1")
	c.question = q.present()
	q.end(c, opened)
	joined(t, base, "Bob")
	if v := q.view(viewer{}, nil); v.Ended || v.After.Text != "" || !v.Open {
		t.Errorf("the new class is asked %+v", v)
	}
	if text := shows(); strings.Contains(text, "of 1 guesses") || strings.Contains(text, "<td>3 of 20</td></tr>") {
		t.Errorf("the new class gets the old guesses: %s", text)
	}
}

// A result beside an open question answers it. When a class is asked about another burst, and when a new class begins, nobody gets the
// burst before: on no card, in no table, not in the history, and not once more, slowly. A new class never gets it.
func TestAnOpenQuestionHasNoEarlierBurst(t *testing.T) {
	t.Parallel()
	results := []string{"lost 89", "11 of 100"}
	for _, path := range []string{"/ui/burst", "/ui/class/reset"} {
		s, base := burstPage(t, &Class{Token: token}, noInstances)
		leads := trains(t, base)
		page := func() string {
			_, page := send(t, leads, http.MethodGet, base+"/ui/burst", nil, nil)
			return page
		}
		post := func(path string, form url.Values) int {
			status, _ := send(t, leads, http.MethodPost, base+path, form, nil)
			return status
		}
		judged := left("v1", 11, 9, lab.AsExpected)
		ends := func() {
			endBurst(s, &burst.Results{Users: 100, Pageview: []burst.PageviewRow{judged.Pageview}, Order: []burst.OrderRow{judged.Order}})
			post("/ui/quiz/burst/show", nil)
		}
		told := newBurstNow(burst.Plan{Users: 100, Versions: []string{"v1"}})
		for value := int64(1); value < 3 || told.longest() == 0; value++ { // the clock may not tell two answers apart
			told.apply(burst.Answered{Version: "v1", Instance: "a", Value: value})
		}
		told.apply(judged)
		s.bursts.shown = told
		if ends(); !all(page(), results) {
			t.Fatalf("the burst is not shown: %s", page())
		}
		post("/ui/burst/replay", nil)
		post(path, plan("200", "v1"))
		testenv.Eventually(t, "it is not seen again, slowly", func() bool { return !s.isBusy(againPart(burstName)) })
		for _, result := range results {
			if strings.Contains(page(), result) {
				t.Errorf("after %s there is %q beside the question: %s", path, result, page())
			}
		}
		if status := post("/ui/burst/replay", nil); status != http.StatusConflict {
			t.Errorf("after %s the burst can be seen again: %d", path, status)
		}
		isNew := path == "/ui/class/reset"
		if ends(); isNew != (len(s.bursts.ended) == 1) || isNew != (s.bursts.plan.Users == firstPlan.Users) {
			t.Errorf("after %s the plan is %+v, and the history has %d bursts", path, s.bursts.plan, len(s.bursts.ended))
		}
	}
}

// Browsers send the cookies of a host to all of its ports. Two classes on one machine do not take each other's names, and a script gets
// no cookie. A browser has one name.
func TestTwoClassesOnOneMachine(t *testing.T) {
	t.Parallel()
	one, first := teaching(t)
	_, second := teaching(t)
	ana := joined(t, first, "Ana")
	for _, base := range []string{second, first} {
		send(t, ana, http.MethodPost, base+"/ui/join", url.Values{"name": {"Anna"}}, nil)
	}
	for base, name := range map[string]string{first: "You are Ana<", second: "You are Anna<"} {
		if _, page := send(t, ana, http.MethodGet, base+"/ui/story/1", nil, nil); !strings.Contains(page, name) {
			t.Errorf("at %s: %s is missing", base, name)
		}
	}
	if n := one.class.Size(); n != 1 {
		t.Errorf("one browser has %d names", n)
	}
	w := httptest.NewRecorder()
	remember(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8070/ui/", nil), personCookie, "secret")
	if c := w.Result().Cookies()[0]; !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/ui/" {
		t.Errorf("the cookie is %v", c)
	}
}
