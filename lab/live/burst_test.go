package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/versions"
)

// app is the program, whose instances are sent bursts.
var app = testenv.Shared[string]{
	Need: testenv.Need{Name: "go", Programs: []string{"go"}},
	Start: func(ctx context.Context, s *servers.Stack) (string, error) {
		path := filepath.Join(s.Dir(), "app")
		// The first build takes longer than the start of a server may.
		said, err := exec.CommandContext(context.WithoutCancel(ctx), "go", "build", "-o", path, "locklab/cmd/app").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, said)
		}
		return path, err
	},
}

// bursting is a live page with instances of the app, on embedded servers. It has the versions v0 to v4.
func bursting(t *testing.T, class *Class) (*Server, string) {
	t.Helper()
	return burstPage(t, class, instancesOf(t))
}

// instancesOf starts two instances of the app.
func instancesOf(t *testing.T) func(context.Context, func(string)) (burst.Running, error) {
	service := burst.Service{
		App: []string{app.Of(t), "serve"}, Topology: "single", Instances: 2, Named: true,
		Servers: versions.RequiredServers(versions.DefaultNames()...),
		Think:   100 * time.Millisecond, Listen: "127.0.0.1:0",
	}
	instances := testenv.Stack(t)
	return func(ctx context.Context, tell func(string)) (burst.Running, error) {
		return service.Start(ctx, instances, tell)
	}
}

func burstPage(t *testing.T, class *Class, service func(context.Context, func(string)) (burst.Running, error)) (*Server, string) {
	t.Helper()
	c := config(t.TempDir())
	c.Class, c.Service, c.Versions = class, service, versions.DefaultNames()
	return serve(t, c)
}

// noInstances can be started by nobody.
func noInstances(context.Context, func(string)) (burst.Running, error) {
	return burst.Running{}, errors.New("none")
}

// endBurst ends the run of the present question, about the first version of its results.
func endBurst(s *Server, of *burst.Results) {
	q := s.quizzes[burstName]
	question := q.present()
	opened := s.questions.Close(question)
	s.mu.Lock()
	s.bursts.keep(of)
	s.mu.Unlock()
	c := concludeBurst(of, of.Pageview[0].Version)
	c.question = question
	q.end(c, opened)
}

// plan is the form of a plan.
func plan(users string, versions ...string) url.Values {
	return url.Values{"users": {users}, "drivers": {"4"}, "version": versions}
}

// A burst of one's own, on instances of the app, shows the counter of each instance while it runs, then what each version left, and the
// session's history. Two tabs see the same. Each instance has exactly half of the answers, although the page looks on.
func TestABurstOfOnesOwn(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	s, base := bursting(t, nil)
	first, second, history := looks(t, base, "burst", "burst-run", "burst-again"), looks(t, base, "burst"), looks(t, base, "burst-history")
	v1, v3, table := looks(t, base, "burst-card-v1"), looks(t, base, "burst-card-v3"), looks(t, base, "burst-left")
	form := plan("200", "v1", "v3")
	form.Set("guess", "200")
	if status, body := do(t, http.MethodPost, base+"/ui/burst", form, nil); status != http.StatusOK {
		t.Fatal(status, body)
	}
	first.until("burst-run", "Running now", "round 1 of 1")
	v3.until("burst-card-v3", `"number "`, " of 200 confirmed, and 0 lost")
	v3.until("burst-card-v3", `<b class="number good">200</b> of 200`, "nothing lost", "1 winner")
	v1.until("burst-card-v1", `"number lost"`, ">lost 1", "4 winners")
	table.until("burst-left", "v3 · Redis lock", "<td>200 of 200</td>", "as predicted")
	ended := first.until("burst", "v1 lost ", " of 200 views. v3 lost nothing, and had one winner.")
	if other := second.until("burst", "v1 lost "); other != ended {
		t.Error("two tabs see different results")
	}
	history.until("burst-history", "v3 · Redis lock</th><td>200 of 200</td>")
	if _, page := get(t, base+"/ui/burst"); !strings.Contains(page, "You guessed 200, it was ") {
		t.Errorf("the page does not show what has ended: %s", page)
	}
	e := s.bursts.ended[0]
	for _, p := range e.Pageview {
		if p.PerInstance["instance-1"] != 100 || p.PerInstance["instance-2"] != 100 {
			t.Errorf("%s: %v", p.Version, p.PerInstance)
		}
	}
	if status, body := do(t, http.MethodPost, base+"/ui/burst", plan("20", "v6"), nil); status != http.StatusBadRequest ||
		!strings.Contains(body, "v6 needs --zookeeper; choose other versions") {
		t.Error("a version that the instances lack:", status, body)
	}
	do(t, http.MethodPost, base+"/ui/burst", plan("20", "v3"), nil)
	history.until("burst-history", "v3 · Redis lock</th><td>200 of 200, 20 of 20</td>")

	// The burst is seen again, slowly: the answers so far, and after a stop the result.
	first.until("burst", ">v3 lost nothing")
	do(t, http.MethodPost, base+"/ui/burst/replay", nil, nil)
	first.until("burst-again", "The same answers once more, ")
	v3.until("burst-card-v3", `"number "`, "of 20")
	do(t, http.MethodPost, base+"/ui/quiz/burst/stop", nil, nil)
	first.until("burst", ">v3 lost nothing")
	v3.until("burst-card-v3", `<b class="number good">20</b> of 20`)
	testenv.Eventually(t, "it is not seen any more", func() bool { return !s.isBusy(againPart(burstName)) })
}

// In a class participants guess what the trainer asks about, and that runs. Before the trainer shows the answers, nobody sees the guesses.
// Then each is scored: a guess is right within a tenth of the users. A run in which requests failed scores nobody.
func TestABurstOfAClass(t *testing.T) {
	t.Parallel()
	class := &Class{Token: token}
	s, base := burstPage(t, class, noInstances)
	leads := trains(t, base)
	ann, bob := joined(t, base, "Ann"), joined(t, base, "Bob")
	guess := func(of *http.Client, what, form, value string) {
		t.Helper()
		if status, body := send(t, of, http.MethodPost, base+"/ui/quiz/burst/"+what, url.Values{form: {value}}, nil); status != http.StatusOK {
			t.Fatal(what, status, body)
		}
	}
	ends := func(final int64, failed ...string) {
		row := burst.PageviewRow{Judged: burst.Judged{Version: "v2", Verdict: lab.AsExpected}, Counts: burst.Counts{Final: final, Lost: 20}}
		row.Failed = failed
		endBurst(s, &burst.Results{
			Users: s.bursts.plan.Users, Pageview: []burst.PageviewRow{row}, Order: []burst.OrderRow{{Judged: burst.Judged{Verdict: lab.AsExpected}}},
		})
	}
	shows := func() string { return s.board.get("burst", viewer{}) + s.board.get("burst-history", viewer{}) }

	send(t, leads, http.MethodPost, base+"/ui/burst", plan("400", "v0", "v2", "v3"), nil)
	looks(t, base, "burst").until("burst", "400 clients", "of <b>v2</b>")
	guess(ann, "guess", "guess", "400")
	guess(bob, "guess", "guess", "1")
	guess(bob, "guess", "guess", "300")
	ends(380)
	if text := shows(); strings.Contains(text, "within a tenth") || strings.Contains(text, "300 of 400") {
		t.Errorf("before the trainer shows the guesses they are seen, or the next question: %s", text)
	}
	if status, body := send(t, leads, http.MethodPost, base+"/ui/burst", plan("20", "v3"), nil); status != http.StatusConflict ||
		!strings.Contains(body, "are not shown yet") {
		t.Error("the next question is asked before the trainer shows the answers:", status, body)
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/burst/show", nil, nil)
	if text := shows(); !all(text, []string{"1 of 2 guesses are within a tenth", "300 of 400, 400 of 400"}) ||
		strings.Contains(text, "have guessed") {
		t.Errorf("the guesses are not shown, or the class is asked again about the same burst: %s", text)
	}
	before := s.class.Places("")
	if before[0].Name != "Ann" || before[0].Right != 1 || before[1].Right != 0 || before[1].All != 1 {
		t.Errorf("the points are %+v", before)
	}

	guess(ann, "guess", "guess", "400")
	ends(400, "connection reset")
	send(t, leads, http.MethodPost, base+"/ui/quiz/burst/show", nil, nil)
	if after := s.class.Places(""); !strings.Contains(shows(), "1 of 400 requests failed") || !slices.Equal(after, before) {
		t.Errorf("a run that proves nothing makes of %v %v: %s", before, after, shows())
	}
}

// A plan that cannot be sent starts nothing, and the page says what to do. So does a run that fails: its guess stays, and it can be pressed
// again.
func TestABurstThatCannotBeSent(t *testing.T) {
	t.Parallel()
	starts := make(chan bool, 9)
	s, base := burstPage(t, nil, func(context.Context, func(string)) (burst.Running, error) {
		starts <- true
		return burst.Running{}, errors.New("no port is free; end another program")
	})
	for says, form := range map[string]url.Values{
		"Versions is empty; name at least one": plan("666"),
		"Users is 7; it must be even":          plan("7", "v1"),
		"Guess a number from 0 to 666":         {"users": {"666"}, "drivers": {"4"}, "version": {"v1"}, "guess": {"667"}},
	} {
		status, body := do(t, http.MethodPost, base+"/ui/burst", form, nil)
		if status != http.StatusBadRequest || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s", says, status, body)
		}
	}
	wrong := plan("7", "v1", "v3")
	wrong.Set("guess", "5")
	if _, body := do(t, http.MethodPost, base+"/ui/burst", wrong, nil); !all(body, []string{
		`name="users" inputmode="numeric" autocomplete="off" value="7"`, `value="4" aria-describedby="wrong-drivers"`,
		`autocomplete="off" value="5"`, `value="v1" checked`, `value="v3" checked`,
	}) || strings.Contains(body, `value="v0" checked`) {
		t.Errorf("a refused form loses what was typed: %s", body)
	}
	if len(starts) != 0 {
		t.Error("bad input starts the instances")
	}
	for range 2 {
		form := plan("20", "v3")
		form.Set("guess", "20")
		do(t, http.MethodPost, base+"/ui/burst", form, nil)
		looks(t, base, "burst").until("burst", "It did not run: no port is free; end another program. Solve this")
		testenv.Eventually(t, "it can be pressed again", func() bool { return s.viewQuestion("burst-1", viewer{}).Open })
	}
	if a := s.viewQuestion("burst-1", viewer{}); a.Mine != "20" {
		t.Errorf("after a run that failed the question is %+v", a)
	}
	_, bare := serving(t)
	if status, body := do(t, http.MethodPost, bare+"/ui/burst", plan("20", "v3"), nil); status != http.StatusNotFound ||
		!strings.Contains(body, "start the page with app lab serve") {
		t.Error("without instances:", status, body)
	}
}

// A guess is right within a tenth of the users from the final value. The history is bounded.
func TestWhatABurstLeft(t *testing.T) {
	page := burst.PageviewRow{Judged: burst.Judged{Version: "v1", Verdict: lab.AsExpected}, Counts: burst.Counts{Final: 50, Lost: 50}}
	e := endedBurst{About: page, Results: &burst.Results{
		Users: 100, Pageview: []burst.PageviewRow{page}, Order: []burst.OrderRow{{Judged: burst.Judged{Verdict: lab.Unexpected}}},
	}}
	for guess, right := range map[string]bool{"40": true, "39": false, "60": true, "61": false, "": false} {
		if e.good(guess) != right {
			t.Errorf("the guess %q is right: %v", guess, !right)
		}
	}
	s, _ := serving(t)
	for range mostEnded + 1 {
		endBurst(s, e.Results)
	}
	if n, question := len(s.bursts.ended), s.quizzes[burstName].question; n != mostEnded || question != fmt.Sprintf("burst-%d", mostEnded+2) {
		t.Errorf("the history has %d runs, and the next question is %s", n, question)
	}
}

// While a burst runs, no guess is taken, nothing else is asked, and a second press begins nothing. Another plan has no guess. Participants
// see no links: the instances are on the trainer's machine.
func TestWhileABurstRuns(t *testing.T) {
	t.Parallel()
	starts, release := make(chan bool, 9), make(chan struct{})
	class := &Class{Token: token}
	s, base := burstPage(t, class, func(context.Context, func(string)) (burst.Running, error) {
		starts <- true
		<-release
		return burst.Running{}, errors.New("it ends here")
	})
	leads, ann := trains(t, base), joined(t, base, "Ann")
	guesses := looks(t, base, "burst")
	send(t, ann, http.MethodPost, base+"/ui/quiz/burst/guess", url.Values{"guess": {"34"}}, nil)
	guesses.until("burst", "1 of 1 have guessed")
	for range 2 {
		send(t, leads, http.MethodPost, base+"/ui/quiz/burst/run", nil, nil)
	}
	<-starts
	send(t, ann, http.MethodPost, base+"/ui/quiz/burst/guess", url.Values{"guess": {"600"}}, nil)
	if counts := s.viewQuestion("burst-1", viewer{}).Counts; counts["34"] != 1 || counts["600"] != 0 {
		t.Errorf("the guesses are %v", counts)
	}
	status, body := send(t, leads, http.MethodPost, base+"/ui/burst", plan("20", "v0"), nil)
	if status != http.StatusConflict || !strings.Contains(body, "ask again when it has ended") || s.bursts.plan.Users != 666 {
		t.Error("another plan is asked about:", status, body)
	}
	close(release)
	looks(t, base, "burst").until("burst", "It did not run: it ends here")
	if len(starts) != 0 {
		t.Error("a second press began a run")
	}
	send(t, leads, http.MethodPost, base+"/ui/burst", plan("20", "v0"), nil)
	if n := s.viewQuestion("burst-1", viewer{}).Guesses; n != 0 {
		t.Errorf("another plan is asked about, and has %d guesses", n)
	}
	s.bench.Use(burst.Running{Redis: new(servers.Topology), Instances: []*servers.Instance{{Name: "instance-1", URL: "http://127.0.0.1:9"}}})
	_, trainers := send(t, leads, http.MethodGet, base+"/ui/burst", nil, nil)
	_, page := send(t, ann, http.MethodGet, base+"/ui/burst", nil, nil)
	if strings.Contains(page, "127.0.0.1:9") || !strings.Contains(trainers, "127.0.0.1:9") {
		t.Errorf("a participant sees %s", page)
	}
}
