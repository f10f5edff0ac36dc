package live

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/testenv"
	"locklab/versions"
)

const token = "a token of a trainer"

// teaching is a live page with a class.
func teaching(t *testing.T) (*Server, string) {
	t.Helper()
	cfg := config(t.TempDir())
	cfg.Class, cfg.Address = &Class{Token: token}, "http://lab.example:8070"
	return serve(t, cfg)
}

// browser is a client with cookies of its own.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// networks are those from which participants have joined: each has its own, so that a test need not wait.
var networks atomic.Int32

// joined is a participant's browser.
func joined(t *testing.T, base, name string) *http.Client {
	t.Helper()
	c := browser(t)
	network := http.Header{"X-Forwarded-For": {fmt.Sprintf("2001:db8:0:%x::1", networks.Add(1))}}
	if status, body := send(t, c, http.MethodPost, base+"/ui/join", url.Values{"name": {name}}, network); status != http.StatusOK {
		t.Fatalf("%s cannot join: %d %s", name, status, body)
	}
	return c
}

// trains is the trainer's browser.
func trains(t *testing.T, base string) *http.Client {
	t.Helper()
	c := browser(t)
	if status, body := send(t, c, http.MethodPost, base+"/ui/trainer", url.Values{"token": {token}}, nil); status != http.StatusOK {
		t.Fatalf("the token is refused: %d %s", status, body)
	}
	return c
}

// Anybody may look, so a GET shows nothing that is the trainer's alone. Anybody may join, and sign in as the trainer.
// A participant may guess and answer, too. Only the trainer may do the rest.
func TestEachRouteIsForItsRoles(t *testing.T) {
	t.Parallel()
	least := func(pattern string) role {
		switch {
		case strings.HasPrefix(pattern, "GET "), pattern == "POST /ui/join", pattern == "POST /ui/trainer":
			return visitor
		case strings.HasSuffix(pattern, "/guess"), strings.HasSuffix(pattern, "/answer"):
			return participant
		}
		return trainer
	}
	_, base := teaching(t)
	nothing := strings.NewReplacer( // so that nothing runs
		"{$}", "", "{scene}", "99", "{id}", "L0x", "{lock}", "1", "{name}", "x", "{fault}", "kill", "{run}", "x",
	)
	for as, c := range []*http.Client{visitor: browser(t), participant: joined(t, base, "Ana"), trainer: trains(t, base)} {
		for _, r := range routes {
			method, path, _ := strings.Cut(nothing.Replace(r.pattern), " ")
			status, body := send(t, c, method, base+path, nil, nil)
			if (status == http.StatusForbidden) != (role(as) < least(r.pattern)) && path != "/ui/trainer" { // without a token it is forbidden to all
				t.Errorf("%s as role %d: %d %s", r.pattern, as, status, body)
			}
		}
	}
	status, body := send(t, browser(t), http.MethodPost, base+"/ui/trainer", url.Values{"token": {"another"}}, nil)
	if status != http.StatusForbidden || !strings.Contains(body, "not the token") {
		t.Errorf("a wrong token: %d %s", status, body)
	}
}

// A class guesses. While the trainer has not shown the answers, no browser gets the guesses, or what is right. Then each participant
// sees the own guess and the result. So does one that had lost its connection, and one that comes late.
func TestAClassGuessesAndTheTrainerRuns(t *testing.T) {
	t.Parallel()
	const people = 6
	s, base := teaching(t)
	leads := trains(t, base)
	clients, screens := make([]*http.Client, people), make([]looker, people)
	answer := func(path string, i int) {
		t.Helper()
		form := url.Values{"choice": {fmt.Sprint(i % 3)}}
		if status, body := send(t, clients[i], http.MethodPost, base+path, form, nil); status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	for i := range clients {
		clients[i] = joined(t, base, fmt.Sprintf("participant %d", i))
		screens[i] = looksAs(t, clients[i], base, sceneParts...)
		answer("/ui/quiz/scene-3/guess", i)
	}
	screen := looksAs(t, leads, base, sceneParts...)
	screen.until("scene-3", "6 of 6 have guessed")
	screens[1].until("scene-3", "Your guess is noted", "6 of 6")
	status, body := send(t, clients[0], http.MethodPost, base+"/ui/quiz/scene-3/answer", url.Values{"choice": {"1"}}, nil)
	if status != http.StatusConflict {
		t.Error("a participant says what was lost before the run:", status, body)
	}
	if status, body := send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/show", nil, nil); status != http.StatusConflict {
		t.Error("the answers are shown before the run:", status, body)
	}
	screens[2].close() // its phone sleeps
	if status, _ := send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/run", nil, nil); status != http.StatusOK {
		t.Fatal("the trainer cannot run", status)
	}
	screen.until("scene-3", "what was lost?")
	screen.until("scene-3", "0 of 6 have answered")
	wantNothingTold(t, s, base, clients[1])
	for i := range clients {
		answer("/ui/quiz/scene-3/answer", i)
	}
	screen.until("scene-3", "6 of 6 have answered")
	wantNothingTold(t, s, base, clients[1])
	drawing := looks(t, base, "scene-3-run")
	if status, _ := send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/show", nil, nil); status != http.StatusOK {
		t.Fatal("the trainer cannot show", status)
	}
	drawing.until("scene-3-run", "no violation")
	var reading errgroup.Group
	for i, s := range screens {
		if i == 2 {
			continue
		}
		reading.Go(func() error {
			if html := s.until("scene-3", "A lock needs an expiry"); strings.Contains(html, ">Right. ") != (i%3 == 0) {
				return fmt.Errorf("participant %d, who chose %d, sees %s", i, i%3, html)
			}
			return nil
		})
	}
	if err := reading.Wait(); err != nil {
		t.Error(err)
	}
	awake := looksAs(t, clients[2], base, sceneParts...)
	awake.until("scene-3", "2 of 6")
	awake.until("scene-3", "You answered something else")
	awake.until("scene-3", "Not (c): ", "Right is (a)")
	late := looksAs(t, joined(t, base, "late"), base, sceneParts...)
	late.until("scene-3", "A lock needs an expiry")
	seesRight := looksAs(t, clients[1], base, sceneParts...)
	seesRight.until("scene-3", "2 of 6")
	seesRight.until("scene-3", "You saw it right.")
	_, page := send(t, clients[0], http.MethodGet, base+"/ui/class", nil, nil)
	if strings.Count(page, "<td>1</td><td>2</td>") != 4 || strings.Count(page, "<td>0</td><td>2</td>") != 2 {
		t.Errorf("not every third has a point for the guess, and another third for what it saw: %s", page)
	}
}

// wantNothingTold looks for the answers of scene 3 in all that a browser can get.
func wantNothingTold(t *testing.T, s *Server, base string, c *http.Client) {
	t.Helper()
	for _, path := range []string{"/ui/story/3", "/ui/story", "/ui/class"} {
		_, page := send(t, c, http.MethodGet, base+path, nil, nil)
		for _, secret := range []string{"2 of 6", "the lock stays for ever", "A lock needs an expiry", `right"`, "<td>1</td>"} {
			if strings.Contains(page, secret) {
				t.Errorf("before the trainer shows it, %s has %q", path, secret)
			}
		}
	}
	for _, part := range sceneParts {
		if text := s.board.get(part, viewer{Role: trainer}); strings.Contains(text, "2 of 6") {
			t.Errorf("the trainer's screen has the guesses in %s: %s", part, text)
		}
	}
}

// Somebody who joins is led to the page that the trainer has opened last, and before that to the one of the class.
func TestOneJoinsWhereTheTrainerIs(t *testing.T) {
	t.Parallel()
	_, base := teaching(t)
	leads := trains(t, base)
	for _, path := range []string{"/ui/class", "/ui/story/4", "/ui/burst"} {
		send(t, leads, http.MethodGet, base+path, nil, nil)
		var to string
		c := browser(t)
		c.CheckRedirect = func(r *http.Request, _ []*http.Request) error { to = r.URL.Path; return nil }
		send(t, c, http.MethodPost, base+"/ui/join", url.Values{"name": {"at " + path}}, nil)
		if to != path {
			t.Errorf("while the trainer is at %s one is led to %s", path, to)
		}
	}
}

// A name is taken back with its code, in another browser. Its guesses are there. A wrong code helps nobody, and is not tried often.
func TestANameIsTakenBack(t *testing.T) {
	t.Parallel()
	_, base := teaching(t)
	ana := joined(t, base, "Ana")
	send(t, ana, http.MethodPost, base+"/ui/quiz/scene-3/guess", url.Values{"choice": {"1"}}, nil)
	_, page := send(t, ana, http.MethodGet, base+"/ui/join", nil, nil)
	found := regexp.MustCompile(`Your code is <strong>([A-Z2-7]{5})</strong>`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("Ana is told no code: %s", page)
	}
	again, eve := browser(t), browser(t)
	for _, c := range []struct {
		code   string
		status int
	}{{"", http.StatusBadRequest}, {"22222", http.StatusBadRequest}, {" " + strings.ToLower(found[1]), http.StatusOK}} {
		form := url.Values{"name": {"ana"}, "code": {c.code}}
		if is, body := send(t, again, http.MethodPost, base+"/ui/join", form, nil); is != c.status {
			t.Errorf("with the code %q: %d %s", c.code, is, body)
		}
	}
	if _, page := send(t, again, http.MethodGet, base+"/ui/story/3", nil, nil); !strings.Contains(page, "You are Ana") ||
		!strings.Contains(page, "Your guess is noted") {
		t.Errorf("the guess is lost: %s", page)
	}
	if _, page := send(t, ana, http.MethodGet, base+"/ui/story/3", nil, nil); !strings.Contains(page, "You are Ana") {
		t.Error("her first browser has lost the name")
	}
	last := 0
	for range 8 {
		last, _ = send(t, eve, http.MethodPost, base+"/ui/join", url.Values{"name": {"Ana"}, "code": {"AAAAA"}}, nil)
	}
	_, page = send(t, eve, http.MethodGet, base+"/ui/class", nil, nil)
	if last != http.StatusTooManyRequests || strings.Contains(page, "You are Ana") {
		t.Errorf("Eve tries codes as often as she likes: %d", last)
	}
	if strings.Contains(page, found[1]) || !strings.Contains(page, "Ana") {
		t.Error("the board shows the code of another participant, or not the name")
	}
}

// atTheSameAddress lets a browser's cookies outlive a server: their names have the port of the address.
var atTheSameAddress = http.Header{"Host": {"lab.example:8070"}}

// kept starts a program anew, with another token, over the store of one that may have been killed.
func kept(t *testing.T, store, token string) (*Server, string) {
	t.Helper()
	cfg := config(store)
	cfg.Class, cfg.Address = &Class{Token: token}, "http://lab.example:8070"
	cfg.Service = func(context.Context, func(string)) (burst.Running, error) {
		return burst.Running{}, errors.New("not here")
	}
	cfg.Versions = versions.DefaultNames()
	return serve(t, cfg)
}

// A class outlives its program: names, codes, guesses, points, what was told, and who the trainer is. A question that was not told is open
// again with its guesses. One that was told can be run once more for its drawing, and is not scored again. A new class empties it.
func TestAClassOutlivesItsProgram(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	s, base := kept(t, store, token)
	post := func(c *http.Client, path string, form url.Values) int {
		t.Helper()
		status, _ := send(t, c, http.MethodPost, base+path, form, atTheSameAddress)
		return status
	}
	page := func(c *http.Client, path string) string {
		t.Helper()
		_, page := send(t, c, http.MethodGet, base+path, nil, atTheSameAddress)
		return page
	}
	leads, ana := browser(t), browser(t)
	post(leads, "/ui/trainer", url.Values{"token": {token}})
	post(ana, "/ui/join", url.Values{"name": {"Ana"}})
	code := regexp.MustCompile(`Your code is <strong>[A-Z2-7]{5}</strong>`).FindString(page(ana, "/ui/class"))
	play := func() {
		t.Helper()
		post(leads, "/ui/quiz/scene-3/run", nil)
		testenv.Eventually(t, "the run has ended", func() bool { return s.viewQuestion("scene-3", viewer{}).Waits() })
		if status := post(leads, "/ui/quiz/scene-3/show", nil); status != http.StatusOK {
			t.Fatal("the trainer cannot show the answers:", status)
		}
	}
	for _, scene := range []string{"3", "4"} {
		post(ana, "/ui/quiz/scene-"+scene+"/guess", url.Values{"choice": {"0"}})
	}
	play()
	post(leads, "/ui/burst", plan("100", "v3"))
	post(ana, "/ui/quiz/burst/guess", url.Values{"guess": {"90"}})

	s, base = kept(t, store, "another token") // the first one runs on: whatever it would do at its end has not happened
	if again := page(ana, "/ui/class"); code == "" || !strings.Contains(again, code) || !strings.Contains(again, "1 right of 1") {
		t.Errorf("Ana had %q, and sees %s", code, again)
	}
	if scene := page(ana, "/ui/story/3"); !strings.Contains(scene, "1 of 1") || !strings.Contains(scene, ">Right. ") {
		t.Errorf("a question that was told: %s", scene)
	}
	if scene := page(ana, "/ui/story/4"); !strings.Contains(scene, "Your guess is noted") || !s.viewQuestion("scene-4", viewer{}).Open {
		t.Errorf("a question that was not told: %s", scene)
	}
	if burst := page(ana, "/ui/burst"); !strings.Contains(burst, "100 clients") || !strings.Contains(burst, "Your guess is 90") {
		t.Errorf("the burst that was asked about: %s", burst)
	}
	if trains := page(leads, "/ui/story/3"); strings.Contains(trains, `data-key="R" disabled`) {
		t.Error("a scene that was told cannot be run, so it has no drawing")
	}
	post(leads, "/ui/quiz/scene-3/run", nil)
	testenv.Eventually(t, "it has a drawing", func() bool { return strings.Contains(page(ana, "/ui/story/3"), "data-steps") })
	if scene := page(ana, "/ui/story/3"); !strings.Contains(scene, ">Right. ") || strings.Contains(scene, "have answered") {
		t.Errorf("what was told is asked again: %s", scene)
	}
	if status := post(leads, "/ui/quiz/scene-3/again", nil); status != http.StatusOK {
		t.Error("the trainer has lost the role:", status)
	}
	post(ana, "/ui/quiz/scene-3/guess", url.Values{"choice": {"1"}})
	play()
	if again := page(ana, "/ui/class"); !strings.Contains(again, "1 right of 1") {
		t.Errorf("a question is scored twice: %s", again)
	}
	post(leads, "/ui/class/reset", nil)
	s, base = kept(t, store, token)
	again, guesses := page(ana, "/ui/class"), s.viewQuestion("scene-4", viewer{}).Guesses
	if strings.Contains(again, "Ana") || s.class.Size() != 0 || guesses != 0 {
		t.Errorf("a new class has something of the one before: %s", again)
	}
}

// Answers about a run that an earlier program has shown do not count for the next run.
func TestAnswersAreAboutOneRun(t *testing.T) {
	t.Parallel()
	s, _ := teaching(t)
	s.questions.Guess(afterName("burst-1"), "ana", "1")
	page := left("v1", 60, 20, lab.AsExpected)
	endBurst(s, &burst.Results{Users: 100, Pageview: []burst.PageviewRow{page.Pageview}, Order: []burst.OrderRow{page.Order}})
	if a := s.viewQuestion(afterName("burst-1"), viewer{}); a.Guesses != 0 || !a.Open {
		t.Errorf("%+v", a)
	}
}

// A trainer whose role nobody knows any more is led to where it is got back. A visitor is not.
func TestATrainerSignsInAgain(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	_, base := kept(t, store, token)
	leads := browser(t)
	send(t, leads, http.MethodPost, base+"/ui/trainer", url.Values{"token": {token}}, atTheSameAddress)
	if err := os.Remove(filepath.Join(store, classFile)); err != nil {
		t.Fatal(err)
	}
	_, base = kept(t, store, token)
	for _, path := range []string{"/ui/story/1", "/ui/burst", "/ui/experiments/L01", "/ui/servers", "/ui/class"} {
		for says, c := range map[string]*http.Client{"the trainer": leads, "a visitor": browser(t)} {
			_, page := send(t, c, http.MethodGet, base+path, nil, atTheSameAddress)
			if strings.Contains(page, `<a class="button" href="/ui/trainer">Sign in again</a>`) != (c == leads && path != "/ui/servers") ||
				strings.Contains(page, "Sign in again") != (c == leads) {
				t.Errorf("%s sees at %s: %s", says, path, page)
			}
		}
	}
}

// A class that cannot be read stops the program with what to do, before it overwrites anything. One that cannot be saved goes on, and its
// trainer reads why.
func TestAClassThatCannotBeKept(t *testing.T) {
	t.Parallel()
	cfg := config(t.TempDir())
	cfg.Class, cfg.Address = &Class{Token: token}, "http://lab.example:8070"
	path := filepath.Join(cfg.Store, classFile)
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the program starts: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, base := serve(t, cfg)
	leads, ana := trains(t, base), joined(t, base, "Ana")
	screen := looksAs(t, leads, base, "people")
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil { // a folder where the file should be
		t.Fatal(err)
	}
	send(t, ana, http.MethodPost, base+"/ui/quiz/scene-3/guess", url.Values{"choice": {"0"}}, nil)
	screen.until("people", "The class is not saved: ")
	if _, page := send(t, ana, http.MethodGet, base+"/ui/story/1", nil, nil); strings.Contains(page, "not saved") {
		t.Errorf("a participant reads %s", page)
	}
}

// Everybody sees the ten best, and the own rank. The trainer sees all, and removes a participant, whose browser is a visitor's then.
func TestTheBoardIsShort(t *testing.T) {
	t.Parallel()
	s, base := teaching(t)
	leads := trains(t, base)
	var last *http.Client
	for i := range 14 {
		last = joined(t, base, fmt.Sprintf("person %d", i))
		choice := fmt.Sprint(i / 13)
		send(t, last, http.MethodPost, base+"/ui/quiz/scene-3/guess", url.Values{"choice": {choice}}, nil)
	}
	_, lobby := send(t, last, http.MethodGet, base+"/ui/class", nil, nil)
	if page := lobby; !strings.Contains(page, "person 0") || strings.Contains(page, "You are 1") {
		t.Errorf("before the first point: %s", page)
	}
	s.quizzes["scene-3"].end(conclusion{question: "scene-3", right: "0", result: sceneRan{}}, s.questions.Close("scene-3"))
	send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/show", nil, nil)
	_, page := send(t, last, http.MethodGet, base+"/ui/class", nil, nil)
	if !strings.Contains(page, "<strong>14th</strong> of 14") || strings.Count(page, ">person ") != 10 || strings.Contains(page, "Remove") {
		t.Errorf("the last one sees %s", page)
	}
	if _, page := send(t, leads, http.MethodGet, base+"/ui/class", nil, nil); strings.Count(page, `value="person `) != 14 {
		t.Errorf("the trainer sees %s", page)
	}
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		status, body := send(t, leads, http.MethodPost, base+"/ui/class/remove", url.Values{"name": {"person 13"}}, nil)
		if status != want {
			t.Errorf("the trainer removes a participant: %d %s", status, body)
		}
	}
	if _, page := send(t, last, http.MethodGet, base+"/ui/story/3", nil, nil); !strings.Contains(page, "Join with a name") ||
		!strings.Contains(page, "13 of 13") {
		t.Errorf("who was removed sees %s", page)
	}
}

// Who was removed reads so on the open page, which offers to join, and shows no name and no code any more. So does a page that is opened
// later. Who joins again is a participant, and a visitor was never removed.
func TestWhoWasRemovedReadsIt(t *testing.T) {
	t.Parallel()
	_, base := teaching(t)
	leads, ana := trains(t, base), joined(t, base, "Ana")
	page := func(c *http.Client, path string) string {
		_, page := send(t, c, http.MethodGet, base+path, nil, nil)
		return page
	}
	if !strings.Contains(page(ana, "/ui/class"), "You have joined as Ana") {
		t.Fatal("Ana has not joined")
	}
	screen := looksAs(t, ana, base, "member", "name")
	screen.until("member", "You have joined as Ana", "Your code is")
	send(t, leads, http.MethodPost, base+"/ui/class/remove", url.Values{"name": {"Ana"}}, nil)
	screen.until("member", "You are no longer in the class", `href="/ui/join"`)
	screen.until("name", "You are no longer in the class", "Join with a name")
	for path, says := range map[string]string{"/ui/class": "Join the class", "/ui/story/3": "Join with a name"} {
		if text := page(ana, path); !all(text, []string{"You are no longer in the class", says}) || strings.Contains(text, "Your code is") {
			t.Errorf("who was removed sees at %s: %s", path, text)
		}
	}
	if text := page(browser(t), "/ui/class"); strings.Contains(text, "no longer") {
		t.Errorf("a visitor sees %s", text)
	}
	send(t, ana, http.MethodPost, base+"/ui/join", url.Values{"name": {"Anna"}}, nil)
	if text := page(ana, "/ui/class"); !strings.Contains(text, "You have joined as Anna") || strings.Contains(text, "no longer") {
		t.Errorf("who joins again sees %s", text)
	}
}

// Ranks are said as people say them.
func TestOrdinals(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 112: "112th", 122: "122nd",
	} {
		if is := ordinal(n); is != want {
			t.Errorf("%d is %q", n, is)
		}
	}
}

// A network is where a request comes from, or behind a proxy on this machine where the proxy says. Nobody else can choose it.
func TestNetworks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from   string
		passed []string
		want   string
	}{
		{"192.0.2.7:5000", nil, "192.0.2.7"},
		{"192.0.2.7:5000", []string{"198.51.100.1"}, "192.0.2.7"}, // the client has made it up
		{"127.0.0.1:5000", []string{"198.51.100.1, 192.0.2.7"}, "192.0.2.7"},
		{"127.0.0.1:5000", []string{"198.51.100.1", "192.0.2.7"}, "192.0.2.7"},
		{"[::1]:5000", []string{"2001:db8:1:2:3::4"}, "2001:db8:1:2::/64"},
		{"[2001:db8:1:2::9]:5000", nil, "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.7]:5000", nil, "192.0.2.7"},
		{"127.0.0.1:5000", []string{"nonsense"}, "unknown"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/ui/join", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"] = c.from, c.passed
		if is := networkOf(r); is != c.want {
			t.Errorf("%s with %q is %s, and should be %s", c.from, c.passed, is, c.want)
		}
	}
}

// A refusal stands in the form, with the name that was typed. A script that fills the class reads when it may go on.
func TestARefusedNameStaysInItsField(t *testing.T) {
	t.Parallel()
	s, base := teaching(t)
	joined(t, base, "Ana")
	form := url.Values{"name": {"Ana"}, "code": {"WRONG"}}
	status, page := send(t, browser(t), http.MethodPost, base+"/ui/join", form, http.Header{"Accept": {"text/html"}})
	for _, part := range []string{`value="Ana"`, `value="WRONG"`, "That is not the code of Ana", "<details open>"} {
		if status != http.StatusBadRequest || !strings.Contains(page, part) {
			t.Errorf("%d: %s is not in %s", status, part, page)
		}
	}
	says := ""
	for i := range 195 {
		if status, page = do(t, http.MethodPost, base+"/ui/join", url.Values{"name": {fmt.Sprint("script ", i)}},
			http.Header{"Accept": {"*/*"}}); status == http.StatusTooManyRequests {
			says = page
		}
	}
	if s.class.Size() > 21 || !strings.Contains(says, "wait 10 seconds, and press Join again") {
		t.Errorf("%d have joined; the script reads %q", s.class.Size(), says)
	}
}

// The trainer sees how many participants look on.
func TestTheTrainerSeesWhoIsOnline(t *testing.T) {
	t.Parallel()
	_, base := teaching(t)
	leads, ana := trains(t, base), joined(t, base, "Ana")
	online := looksAs(t, leads, base, "people")
	online.until("people", "1 joined, 0 online")
	phone := looksAs(t, ana, base, "now")
	online.until("people", "1 joined, 1 online")
	phone.close()
	online.until("people", "1 joined, 0 online")
}

// A refused request changes nothing: a participant only guesses. A name cannot become a script.
func TestAParticipantOnlyGuesses(t *testing.T) {
	t.Parallel()
	s, base := teaching(t)
	ana := joined(t, base, " Ana \t Maria ")
	for _, c := range []struct {
		of     *http.Client
		path   string
		form   url.Values
		status int
		says   string
	}{
		{browser(t), "/ui/join", url.Values{"name": {"ana maria"}}, http.StatusBadRequest, "another name"},
		{browser(t), "/ui/quiz/scene-3/guess", url.Values{"choice": {"1"}}, http.StatusForbidden, "join the class"},
		{trains(t, base), "/ui/quiz/scene-3/guess", url.Values{"choice": {"1"}}, http.StatusForbidden, "Only a participant guesses"},
		{ana, "/ui/quiz/scene-3/run", nil, http.StatusForbidden, "Only the trainer"},
		{ana, "/ui/quiz/L01/guess", url.Values{"choice": {"99"}}, http.StatusBadRequest, "Choose one of the answers"},
	} {
		if status, body := send(t, c.of, http.MethodPost, base+c.path, c.form, nil); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %v: %d %s", c.path, c.form, status, body)
		}
	}
	if len(s.busy) > 0 || s.viewQuestion(sceneName(2), viewer{}).Guesses > 0 || s.class.Size() != 1 {
		t.Error("a refused request changed something")
	}
	eve := joined(t, base, `<script>alert("Eve")</script>`[:24])
	_, page := send(t, eve, http.MethodGet, base+"/ui/class", nil, nil)
	if strings.Contains(page, "<script>alert") || !strings.Contains(page, "Ana Maria") {
		t.Error("a name is not escaped, or not shown")
	}
}

// An experiment asks which of its choices is right. The class is scored, and a reset asks everything anew.
func TestAClassGuessesAnExperiment(t *testing.T) {
	t.Parallel()
	s, base := teaching(t)
	leads, right, wrong := trains(t, base), joined(t, base, "right"), joined(t, base, "wrong")
	e, err := s.cfg.Catalogue.Find("L01")
	if err != nil {
		t.Fatal(err)
	}
	choose := func(of *http.Client, what string, choice int) {
		t.Helper()
		if status, body := send(t, of, http.MethodPost, base+"/ui/quiz/L01/"+what, url.Values{"choice": {fmt.Sprint(choice)}}, nil); status !=
			http.StatusOK {
			t.Error(status, body)
		}
	}
	choose(right, "guess", 0)
	choose(right, "guess", e.Right) // a changed mind
	choose(wrong, "guess", 0)
	send(t, leads, http.MethodPost, base+"/ui/quiz/L01/run", nil, nil)
	of, other, places := looksAs(t, right, base, e.ID, runPart(e.ID)), looksAs(t, wrong, base, e.ID), looks(t, base, "class")
	of.until(runPart(e.ID), "as predicted")
	told := func() string { return s.board.get(e.ID, viewer{}) + s.board.get(runPart(e.ID), viewer{}) }
	if text := told(); strings.Contains(text, "1 of 2") || strings.Contains(text, e.Claim) || strings.Contains(text, "Right is") {
		t.Errorf("before the trainer shows the answers: %s", text)
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/L01/show", nil, nil)
	of.until(e.ID, ">Right. ", e.Claim, "1 of 2")
	other.until(e.ID, "Not (a). ", "Right is (c)")
	places.until("class", ">right</th><td>1</td>")
	if places := s.class.Places(""); places[0].Name != "right" || places[0].Right != 1 || places[1].Right != 0 || places[1].All != 1 {
		t.Errorf("%+v", places)
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/L01/again", nil, nil)
	if text := told(); strings.Contains(text, e.Claim) {
		t.Errorf("the experiment is asked anew, and shows %s", text)
	}
	send(t, leads, http.MethodPost, base+"/ui/class/reset", nil, nil)
	testenv.Eventually(t, "everything is asked anew", func() bool { return s.viewQuestion(e.ID, viewer{}).Open })
	status, _ := send(t, right, http.MethodPost, base+"/ui/quiz/scene-3/guess", url.Values{"choice": {"1"}}, nil)
	if status != http.StatusForbidden {
		t.Error("a participant of the class before still guesses", status)
	}
}

// Participants follow the trainer. They reach the page at the address that they were told, or at any IP address, and at no other name.
func TestAClassFollowsTheTrainer(t *testing.T) {
	t.Parallel()
	_, base := teaching(t)
	leads, ana := trains(t, base), joined(t, base, "Ana")
	screen := looksAs(t, ana, base, "now")
	send(t, ana, http.MethodGet, base+"/ui/story/2", nil, nil)
	for _, path := range []string{
		"/ui/story/5", "/ui/story", "/ui/burst", "/ui/servers", "/ui/steps/L03/1", "/ui/experiments/L01",
	} {
		send(t, leads, http.MethodGet, base+path, nil, nil)
		screen.until("now", `href="`+path+`"`)
	}
	for host, want := range map[string]int{
		"lab.example:8070": http.StatusOK, "LAB.example:8070": http.StatusOK, "192.0.2.7:8070": http.StatusOK,
		"evil.example:8070": http.StatusMisdirectedRequest,
	} {
		if status, _ := do(t, http.MethodGet, base+"/ui/join", nil, http.Header{"Host": {host}}); status != want {
			t.Errorf("at %s: %d", host, status)
		}
	}
}

// A run that is stopped keeps the guesses. A class that is reset while an experiment runs is asked anew when it has ended.
func TestAResetAndAStopAskAnew(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	cfg := config(t.TempDir(), paused("X1-first", release), paused("X2-second", release))
	cfg.Class, cfg.Address = &Class{Token: token}, "http://lab.example:8070"
	s, base := serve(t, cfg)
	leads, ana := trains(t, base), joined(t, base, "Ana")
	send(t, ana, http.MethodPost, base+"/ui/quiz/X2-second/guess", url.Values{"choice": {"0"}}, nil)
	send(t, leads, http.MethodPost, base+"/ui/quiz/X2-second/run", nil, nil)
	send(t, leads, http.MethodPost, base+"/ui/quiz/X2-second/stop", nil, nil)
	looks(t, base, "X2-second").until("X2-second", "The run was stopped")
	if a := s.viewQuestion("X2-second", viewer{}); !a.Open || a.Guesses != 1 {
		t.Errorf("after a run that was stopped: %+v", a)
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/X1-first/run", nil, nil)
	send(t, leads, http.MethodPost, base+"/ui/class/reset", nil, nil)
	if a := s.viewQuestion("X1-first", viewer{}); a.Open {
		t.Error("a question is open while its experiment runs")
	}
	close(release)
	testenv.Eventually(t, "the question is asked anew", func() bool { return s.viewQuestion("X1-first", viewer{}).Open })
	testenv.Eventually(t, "the result of the class before is not shown", func() bool {
		return s.board.get("X1-first-run", viewer{}) == "" && !s.quizzes["X1-first"].view(viewer{}, nil).Ended
	})
}

// A visitor opens no play: it has a Redis, and closes the play that was not used for the longest time. The parts that a visitor looked at
// are not kept.
func TestAVisitorCostsNothing(t *testing.T) {
	t.Parallel()
	s, base := teaching(t)
	trained, page := send(t, trains(t, base), http.MethodGet, base+"/ui/steps/L03/2", nil, nil)
	if trained != http.StatusOK || !strings.Contains(page, "wants the lock") {
		t.Error("the trainer opens no play", page)
	}
	if _, page := get(t, base+"/ui/steps/L03/1"); !strings.Contains(page, "The trainer has not opened this play") {
		t.Errorf("a visitor opens a play: %s", page)
	}
	screen := looks(t, base, "scene-3")
	screen.until("scene-3")
	_ = screen.close()
	testenv.Eventually(t, "the name is forgotten", func() bool {
		s.board.mu.Lock()
		defer s.board.mu.Unlock()
		return len(s.board.watched) == 0
	})
}

// endsWith ends a burst of 100 users on v3.
func endsWith(s *Server, final int64, failed ...string) {
	page := left("v3", final, 1, lab.AsExpected)
	page.Pageview.Failed = failed
	endBurst(s, &burst.Results{Users: 100, Pageview: []burst.PageviewRow{page.Pageview}, Order: []burst.OrderRow{page.Order}})
}

// Each burst is a new question about the plan that was chosen last. After a restart it is the same, with its guesses. A burst with failures
// tells nobody the guesses before the trainer does.
func TestTheSecondBurstOfAClass(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	s, base := kept(t, store, token)
	post := func(c *http.Client, path string, form url.Values) {
		t.Helper()
		if status, body := send(t, c, http.MethodPost, base+path, form, atTheSameAddress); status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	leads, ana := browser(t), browser(t)
	post(leads, "/ui/trainer", url.Values{"token": {token}})
	post(ana, "/ui/join", url.Values{"name": {"Ana"}})
	post(leads, "/ui/burst", plan("100", "v3"))
	endsWith(s, 100)
	post(leads, "/ui/quiz/burst/show", nil)
	post(ana, "/ui/quiz/burst/guess", url.Values{"guess": {"90"}})

	s, base = kept(t, store, token)
	if _, page := send(t, ana, http.MethodGet, base+"/ui/burst", nil, atTheSameAddress); !strings.Contains(page, "100 clients") ||
		!strings.Contains(page, "Your guess is 90") {
		t.Errorf("the second question: %s", page)
	}
	endsWith(s, 90, "a failure")
	if _, page := send(t, ana, http.MethodGet, base+"/ui/burst", nil, atTheSameAddress); strings.Contains(page, "You guessed") ||
		strings.Contains(page, "guesses are within") || !strings.Contains(page, "1 of 100 requests failed") {
		t.Errorf("before the trainer shows the answers: %s", page)
	}
}
