package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/claims"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lab/live/bench"
	"locklab/lab/live/story"
	"locklab/lab/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// config has the experiments of the lab, each of one trial, on embedded parts, and some more.
func config(store string, more ...lab.Experiment) Config {
	all := claims.All()
	for i := range all {
		all[i].Trials = 1
	}
	return Config{
		Catalogue: append(all, more...), Subject: claims.Group, Store: store, Program: "app",
		Command: func(e lab.Experiment, o lab.Options) string {
			return fmt.Sprintf("run %s --seed %d", e.ID, o.Seed)
		},
		StepCommand: func(id, lock, clients string, moves []explore.Move) string {
			return fmt.Sprintf("step %s --lock %q --clients %s --moves %q", id, lock, clients, explore.Text(moves))
		},
	}
}

// serving is a live page.
func serving(t *testing.T, more ...lab.Experiment) (*Server, string) {
	t.Helper()
	return serve(t, config(t.TempDir(), more...))
}

func serve(t *testing.T, cfg Config) (*Server, string) {
	t.Helper()
	s, server := served(t, cfg)
	return s, server.URL
}

func served(t *testing.T, cfg Config) (*Server, *httptest.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(testenv.Context(t))
	s, err := New(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		cancel()
		server.CloseClientConnections() // streams end with their connections
		server.Close()
		s.Wait()
	})
	return s, server
}

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	return do(t, http.MethodGet, address, nil, nil)
}

func do(t *testing.T, method, address string, form url.Values, header http.Header) (int, string) {
	t.Helper()
	return send(t, http.DefaultClient, method, address, form, header)
}

func send(t *testing.T, from *http.Client, method, address string, form url.Values, header http.Header) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name := range header {
		request.Header.Set(name, header.Get(name))
	}
	if host := header.Get("Host"); host != "" {
		request.Host = host
	}
	answer, err := from.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// longestLook bounds the wait for a text, so that one that never comes fails the test and does not hang it.
const longestLook = time.Minute

// looker is a browser that looks on.
type looker struct {
	t     *testing.T
	lines *bufio.Scanner
	close func() error
	has   map[string]string // the newest text of each part
}

func looks(t *testing.T, base string, parts ...string) looker {
	t.Helper()
	return looksAs(t, http.DefaultClient, base, parts...)
}

func looksAs(t *testing.T, from *http.Client, base string, parts ...string) looker {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/ui/events?"+url.Values{"of": parts}.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tooLong := time.AfterFunc(longestLook, cancel)
	defer tooLong.Stop()
	answer, err := from.Do(request)
	if err != nil {
		t.Fatalf("the events of %q: %v", parts, err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 4<<20)
	return looker{t, lines, answer.Body.Close, make(map[string]string)}
}

// until reads parts until the one of this name has all of the texts.
func (l looker) until(part string, texts ...string) (html string) {
	l.t.Helper()
	if has, is := l.has[part]; is && all(has, texts) {
		return has
	}
	tooLong := time.AfterFunc(longestLook, func() { _ = l.close() })
	defer tooLong.Stop()
	for l.lines.Scan() {
		data, is := strings.CutPrefix(l.lines.Text(), "data: ")
		if !is {
			continue
		}
		var change struct{ Part, HTML string }
		if err := json.Unmarshal([]byte(data), &change); err != nil {
			l.t.Fatal(err)
		}
		l.has[change.Part] = change.HTML
		if change.Part == part && all(change.HTML, texts) {
			return change.HTML
		}
	}
	l.t.Fatalf("the stream ended before %s had %q: %v", part, texts, l.lines.Err())
	return ""
}

func all(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// sceneParts are those of the page of scene 3.
var sceneParts = []string{sceneName(2), runPart(sceneName(2))}

// A scene asks, runs what the guess was about, draws it, and tells. Two browsers see the same, and so does one that comes late. Alone, a
// person is asked nothing after the run.
func TestASceneAsksRunsAndTells(t *testing.T) {
	t.Parallel()
	_, base := serving(t)
	const ran, told = "scene-3-run", "scene-3"
	first, second, ends := looks(t, base, ran), looks(t, base, ran), looks(t, base, told)
	_, page := get(t, base+"/ui/story/3")
	if !strings.Contains(page, "Press your answer") || strings.Contains(page, "A lock needs an expiry") {
		t.Error("the scene tells before it has asked")
	}
	if status, body := do(t, http.MethodPost, base+"/ui/quiz/scene-3/guess", url.Values{"choice": {"1"}}, nil); status != http.StatusOK {
		t.Fatal(status, body)
	}
	whole := []string{"the lock stays for ever", "no violation"}
	drawn := first.until(ran, whole...)
	if other := second.until(ran, whole...); other != drawn {
		t.Error("two browsers see different drawings")
	}
	says := []string{"Not (b): ", "Right is (a).", "A lock needs an expiry"}
	seen := ends.until(told, says...)
	if late := looks(t, base, told).until(told, says...); late != seen {
		t.Error("a browser that comes late sees another result")
	}
	if late := looks(t, base, ran).until(ran); late != drawn {
		t.Error("a browser that comes late sees another drawing")
	}
	_, page = get(t, base+"/ui/story/3")
	if !all(page, append(says, "the lock stays for ever")) {
		t.Error("a reload loses the result")
	}
	if strings.Contains(page, "what was lost?") || strings.Contains(page, "have guessed") {
		t.Error("a person alone is treated as a class")
	}
	if _, end := get(t, base+"/ui/story"); !strings.Contains(end, "0 of your 1 answers were right.") {
		t.Errorf("the end of the story: %s", end)
	}
	do(t, http.MethodPost, base+"/ui/quiz/scene-3/again", nil, nil)
	_, page = get(t, base+"/ui/story/3")
	if !strings.Contains(page, "Press your answer") || strings.Contains(page, "stays for ever") || strings.Contains(page, says[0]) {
		t.Error("what was asked anew shows the result")
	}
}

// A machine without the server that a scene needs shows a recorded run, says so, and why.
func TestASceneWithoutItsServerShowsARecordedRun(t *testing.T) {
	t.Parallel()
	cfg := config(t.TempDir())
	cfg.Options.Real = false
	_, base := serve(t, cfg)
	do(t, http.MethodPost, base+"/ui/quiz/scene-6/guess", url.Values{"choice": {strconv.Itoa(story.Scenes[5].Right())}}, nil)
	looks(t, base, "scene-6").until("scene-6", "recorded on")
	_, page := get(t, base+"/ui/story/6")
	for _, text := range []string{
		"recorded on 20", "needs a real redis-server", ">Right. ", "A writes 1, as B did: one update is lost.",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("the page has no %q: %s", text, page)
		}
	}
	if _, end := get(t, base+"/ui/story"); !strings.Contains(end, "1 of your 1 answers were right.") {
		t.Errorf("the right answer does not count: %s", end)
	}
}

// paused is an experiment whose trial records two events, and then waits.
func paused(id string, release <-chan struct{}) lab.Experiment {
	return lab.Experiment{
		ID: id, Lesson: lab.Lesson{Choices: []string{"(a) One.", "(b) Two."}},
		Schedule: lab.Schedule{Trials: 1}, Check: func([]history.Event) []history.Violation { return nil },
		Variants: []lab.Variant{{Name: "waits", Run: func(ctx context.Context, t *lab.Trial) {
			t.Record(history.Event{Timeline: "A", Kind: history.Request})
			t.Record(history.Event{Timeline: "A", Kind: history.Grant, Key: "k", Owner: "a"})
			select {
			case <-release:
			case <-ctx.Done():
			}
		}}},
	}
}

// A run is drawn while it goes on. Pressed again it is not begun again, and another run waits and says so.
func TestARunIsDrawnWhileItGoesOn(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s, base := serving(t, paused("X1-first", release), paused("X2-second", release))
	first, second := looks(t, base, "X1-first-run"), looks(t, base, "X2-second-run")
	for range 3 {
		do(t, http.MethodPost, base+"/ui/quiz/X1-first/run", nil, nil)
	}
	first.until("X1-first-run", "Running now: waits, trial 1 of 1", "<svg")
	do(t, http.MethodPost, base+"/ui/quiz/X2-second/run", nil, nil)
	second.until("X2-second-run", "This run waits until it ends")
	s.mu.Lock()
	if n := len(s.busy); n != 2 {
		t.Errorf("%d runs wait or run, and two were asked for", n)
	}
	s.mu.Unlock()
	close(release)
	first.until("X1-first-run", "no violation in 1 trial")
	second.until("X2-second-run", "no violation in 1 trial")
}

// A run that could not be judged is told, and the page goes on.
func TestARunWithoutAJudgementIsTold(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	close(done)
	broken := paused("X3-broken", done)
	broken.Check = func([]history.Event) []history.Violation { panic("a check that fails") }
	s, base := serving(t, broken)
	do(t, http.MethodPost, base+"/ui/quiz/X3-broken/run", nil, nil)
	looks(t, base, "X3-broken-run").until("X3-broken-run", "inconclusive", "a check that fails")
	o := scene{Scene: story.Scenes[0]}.conclude(lab.Saved{Experiment: broken}, sceneRan{})
	if len(o.result.(sceneRan).Variants) > 0 || o.right != "" {
		t.Errorf("a run without variants: %v", o)
	}
	if status, _ := get(t, base+"/ui/"); status != http.StatusOK || s.isBusy("X3-broken-run") {
		t.Error("the page does not go on", status)
	}
}

// A request that another site makes a browser send is refused, and so is an address by which another site could reach this machine.
func TestAnotherSiteIsRefused(t *testing.T) {
	s, base := serving(t)
	local := strings.TrimPrefix(base, "http://")
	for name, c := range map[string]struct {
		method string
		header http.Header
		status int
	}{
		"the page itself":      {http.MethodPost, http.Header{"Origin": {base}}, http.StatusOK},
		"another site's form":  {http.MethodPost, http.Header{"Origin": {"http://evil.example"}}, http.StatusForbidden},
		"another site's fetch": {http.MethodPost, http.Header{"Sec-Fetch-Site": {"cross-site"}}, http.StatusForbidden},
		"a rebound name":       {http.MethodGet, http.Header{"Host": {"evil.example"}}, http.StatusMisdirectedRequest},
		"a rebound name, POST": {
			http.MethodPost, http.Header{"Host": {"evil.example"}, "Origin": {"http://evil.example"}}, http.StatusMisdirectedRequest,
		},
		"localhost":            {http.MethodGet, http.Header{"Host": {strings.Replace(local, "127.0.0.1", "localhost", 1)}}, http.StatusOK},
		"an address elsewhere": {http.MethodGet, http.Header{"Host": {"192.0.2.1"}}, http.StatusMisdirectedRequest},
		"IPv6":                 {http.MethodGet, http.Header{"Host": {"[::1]:8090"}}, http.StatusOK},
	} {
		path, form := "/ui/story/2", url.Values(nil)
		if c.method == http.MethodPost && c.status == http.StatusOK {
			path = "/ui/quiz/scene-2/again" // it begins no run
		} else if c.method == http.MethodPost {
			path, form = "/ui/quiz/scene-2/guess", url.Values{"choice": {"1"}}
		}
		if status, body := do(t, c.method, base+path, form, c.header); status != c.status {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if !s.viewQuestion(sceneName(1), viewer{}).Open {
		t.Error("a refused request began a run")
	}
}

// Bad input is answered with what to do.
func TestBadInputIsNamed(t *testing.T) {
	_, base := serving(t)
	for _, c := range []struct {
		method, path string
		form         url.Values
		status       int
		says         string
	}{
		{http.MethodGet, "/ui/story/8", nil, http.StatusNotFound, "the scenes 1 to 7"},
		{http.MethodGet, "/ui/story/x", nil, http.StatusNotFound, ""},
		{http.MethodPost, "/ui/quiz/scene-1/guess", url.Values{"choice": {"3"}}, http.StatusBadRequest, "Choose one of the answers"},
		{http.MethodGet, "/ui/experiments/L0x", nil, http.StatusNotFound, "There is no experiment"},
		{http.MethodGet, "/ui/events", nil, http.StatusBadRequest, "?of="},
		{http.MethodGet, "/ui/events?of=run-L99", nil, http.StatusNotFound, "There is no part &#34;run-L99&#34;"},
		{http.MethodGet, "/ui/quiz/scene-1/guess", nil, http.StatusNotFound, "There is no page"},
		{http.MethodPost, "/ui/quiz/scene-8/guess", nil, http.StatusNotFound, ""},
	} {
		if status, body := do(t, c.method, base+c.path, c.form, nil); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}
}

// full is a page on which a run goes on, and as many wait as can.
func full(t *testing.T) *Server {
	t.Helper()
	s, _ := served(t, config(""))
	for i := range mostWaiting + 1 {
		err := s.start(job{fmt.Sprint(i), link{}, func(ctx context.Context) func() {
			<-ctx.Done()
			return func() {}
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// More runs than can wait are refused, and a scene says so. Nothing is lost: each can be asked for again.
func TestSoManyRunsWait(t *testing.T) {
	s := full(t)
	service := func(context.Context, func(string)) (r burst.Running, err error) { return r, nil }
	s.bench = bench.New(t.Context().Done(), service, true, func() {})
	request := httptest.NewRequest(http.MethodPost, "/?version=v3&clients=2", nil)
	for _, name := range []string{"L01-no-expiry", sceneName(2), burstName} {
		q := s.quizzes[name]
		if err := q.begin(); !errors.Is(err, errBusy) || !s.viewQuestion(q.question, viewer{}).Open {
			t.Errorf("%s ends with %v", name, err)
		}
	}
	if err := s.startLoad(request); !errors.Is(err, errBusy) || s.isBusy("load") {
		t.Errorf("a load ends with %v", err)
	}
	if err := s.start(job{part: "x"}); err == nil {
		t.Error("one more run is accepted")
	}
}

// The first load of a page asks nobody else. Its headers forbid that, too.
func TestThePageAsksNobodyElse(t *testing.T) {
	_, base := serving(t)
	for _, path := range []string{"/", "/ui/burst", "/ui/story/1", "/ui/static/style.css"} {
		status, body := get(t, base+path)
		if status != http.StatusOK || strings.Contains(strings.ReplaceAll(body, "http://www.w3.org/", ""), "://") {
			t.Errorf("%s: %d, or it names another host", path, status)
		}
	}
	answer, err := http.Get(base + "/ui/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for name, value := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; ",
		"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "same-origin",
	} {
		if is := answer.Header.Get(name); !strings.HasPrefix(is, value) {
			t.Errorf("the header %s is %q", name, is)
		}
	}
}
