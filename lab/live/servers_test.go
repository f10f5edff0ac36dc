package live

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"locklab/lab/burst"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/watch"
)

// serversOf is a page whose service is one Redis, a real process, and no instance. broken is the error of its first start.
func serversOf(t *testing.T, class *Class, broken error) (*Server, string) {
	t.Helper()
	stack, cfg := testenv.Stack(t), config(t.TempDir())
	cfg.Class = class
	cfg.Service = func(ctx context.Context, tell func(string)) (r burst.Running, err error) {
		if err, broken = broken, nil; err != nil {
			return r, err
		}
		tell("starting a Redis")
		r.Redis, err = stack.ProxiedTopology(ctx, "single", false)
		return r, err
	}
	return serve(t, cfg)
}

// The instances are started from the page, again after an error. Then a fault shows in the picture, with its proof, in each browser.
func TestServersAreStartedAndBroken(t *testing.T) {
	t.Parallel()
	_, base := serversOf(t, nil, errors.New("no port is free"))
	first, second := looks(t, base, "servers", "faults", "instances"), looks(t, base, "faults")
	first.until("faults", "do not run yet", "Start the instances")
	do(t, http.MethodPost, base+"/ui/servers/start", nil, nil)
	first.until("instances", "could not be started: no port is free")
	do(t, http.MethodPost, base+"/ui/servers/start", nil, nil)
	first.until("servers", "redis-1", ">runs<")
	for _, c := range [][]string{
		{"pause", "no thread of process", "resume"}, {"resume", "answers", "pause"}, {"cut", "were dropped", "mend"},
	} {
		if status, body := do(t, http.MethodPost, base+"/ui/servers/redis-1/"+c[0], nil, nil); status != http.StatusOK {
			t.Fatal(c, status, body)
		}
		for _, browser := range []looker{first, second} {
			browser.until("faults", "<b>"+c[0]+" redis-1</b>: ", c[1], "/ui/servers/redis-1/"+c[2])
		}
	}
	if _, page := get(t, base+"/ui/servers"); !strings.Contains(page, "cut off") || !strings.Contains(page, "<b>pause redis-1</b>") {
		t.Errorf("a reload shows %s", page)
	}
}

// A request that is impossible is refused with what to do, and nothing changes.
func TestServersRefuseBadInput(t *testing.T) {
	t.Parallel()
	s, base := serversOf(t, nil, nil)
	refused := func(path string, form url.Values, status int, says string) {
		t.Helper()
		if got, body := do(t, http.MethodPost, base+"/ui/servers/"+path, form, nil); got != status || !strings.Contains(body, says) {
			t.Errorf("%s: %d %s", path, got, body)
		}
	}
	refused("redis-1/kill", nil, http.StatusConflict, "start them first")
	looker := looks(t, base, "servers", "load")
	do(t, http.MethodPost, base+"/ui/servers/start", nil, nil)
	looker.until("servers", "redis-1")
	refused("redis-9/kill", nil, http.StatusNotFound, "choose a server")
	refused("redis-1/burn", nil, http.StatusNotFound, "choose a server and a fault")
	refused("redis-1/mend", nil, http.StatusConflict, "cut it first")
	refused("stop", nil, http.StatusConflict, "No load runs")
	for _, clients := range []string{"", "51"} {
		refused("load", url.Values{"version": {"v3"}, "clients": {clients}}, http.StatusBadRequest, "from 1 to 50 clients")
	}
	refused("load", url.Values{"version": {"v5"}, "clients": {"8"}}, http.StatusBadRequest, "one of these versions: v0, v1, v2, v3, v4")
	for _, rate := range []string{"-1", "1001", "many"} {
		refused("load", url.Values{"version": {"v3"}, "clients": {"2"}, "rate": {rate}}, http.StatusBadRequest, "")
	}
	if s.load.Load() != nil || len(s.watched.shown.Faults) > 0 {
		t.Errorf("%+v, %+v", s.load.Load(), s.watched.shown)
	}
}

// A load without an answer ends with a sentence, and the next one may begin. There is one at a time. It can be stopped before it begins.
func TestALoadThatCannotGoOnSaysWhy(t *testing.T) {
	t.Parallel()
	s, base := serversOf(t, nil, nil)
	looker, form := looks(t, base, "load"), url.Values{"version": {"v3"}, "clients": {"2"}}
	do(t, http.MethodPost, base+"/ui/servers/load", form, nil)
	looker.until("load", "The load has no result.", "answers in one") // its service has no balancer; the plot stays
	release := make(chan struct{})
	if err := s.start(job{"other", func(context.Context) func() { <-release; return func() {} }}); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the load before is gone", func() bool { return s.load.Load() == nil })
	if status, body := do(t, http.MethodPost, base+"/ui/servers/load", form, nil); status != http.StatusOK {
		t.Error(status, body)
	}
	status, body := do(t, http.MethodPost, base+"/ui/servers/load", form, nil)
	if status != http.StatusConflict || !strings.Contains(body, "stop it first") {
		t.Error(status, body)
	}
	looker.until("load", "Another run is active")
	do(t, http.MethodPost, base+"/ui/servers/stop", nil, nil)
	if text := looker.until("load", "The load has no result. It was stopped."); strings.Contains(text, "<svg") {
		t.Errorf("a load that has not begun has a plot: %s", text)
	}
	close(release)
}

// A load in which servers have changed is not judged, even if it is stopped twice while a fault is under way. The next load is judged.
func TestALoadWithAFaultIsNotJudged(t *testing.T) {
	t.Parallel()
	var counter atomic.Int64
	instance := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPut:
			counter.Store(0)
		case http.MethodPost:
			counter.Add(1)
		}
		fmt.Fprintf(w, `{"instance":"instance-1","value":%d}`, counter.Load())
	}))
	t.Cleanup(instance.Close)
	s, base := serversOf(t, nil, nil)
	start := s.cfg.Service
	s.cfg.Service = func(ctx context.Context, tell func(string)) (burst.Running, error) {
		running, err := start(ctx, tell)
		if err != nil {
			return running, err
		}
		process := running.Redis.Nodes[0].Server.(*servers.Process) // in its place: the instance is in this process
		running.URL, running.Instances = instance.URL, []*servers.Instance{{Process: process, Name: "instance-1", URL: instance.URL}}
		return running, nil
	}
	looker, form := looks(t, base, "load"), url.Values{"version": {"v3"}, "clients": {"1"}, "rate": {"50"}}
	begin := func() {
		t.Helper()
		if status, body := do(t, http.MethodPost, base+"/ui/servers/load", form, nil); status != http.StatusOK {
			t.Fatal(status, body)
		}
		looker.until("load", "A load of v3 runs.")
		testenv.Eventually(t, "a view is confirmed", func() bool {
			l := s.load.Load()
			return l != nil && l.Rates(0).Confirmed > 0
		})
	}
	begin()
	for _, what := range []string{"pause", "resume"} {
		do(t, http.MethodPost, base+"/ui/servers/redis-1/"+what, nil, nil)
	}
	held, release := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.onWatch(context.Background(), func(context.Context) error { close(held); <-release; return nil })
	}()
	<-held
	do(t, http.MethodPost, base+"/ui/servers/stop", nil, nil)
	testenv.Eventually(t, "the last answer has come", func() bool { return !s.sending.Load() })
	do(t, http.MethodPost, base+"/ui/servers/stop", nil, nil)
	close(release)
	looker.until("load", "v3 (Redis lock) is not judged", "meanwhile: pause redis-1, resume redis-1.")
	testenv.Eventually(t, "the load is over", func() bool { return s.load.Load() == nil })
	begin()
	do(t, http.MethodPost, base+"/ui/servers/stop", nil, nil)
	looker.until("load", `class="answer good"`, "v3 (Redis lock): nothing lost, as predicted.")
}

// While a load goes on, the servers are looked at also without a browser: the plot needs the time of each change.
func TestServersAreWatchedDuringALoad(t *testing.T) {
	t.Parallel()
	s, _ := serversOf(t, nil, nil)
	running, err := s.service(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	s.sending.Store(true)
	running.Redis.Nodes[0].Kill()
	testenv.Eventually(t, "the end is seen", func() (seen bool) {
		now, cancel := context.WithTimeout(t.Context(), lookEvery)
		defer cancel()
		_ = s.onWatch(now, func(context.Context) error {
			seen = s.watched.shown.Picture != nil && s.watched.shown.Redis[0].State == watch.Ended
			return nil
		})
		return seen
	})
}

// curl sends a form with a line of the page, as a program that takes every kind of answer, and returns what it prints.
func curl(t *testing.T, line string) (printed string) {
	t.Helper()
	testenv.Needs(t, testenv.Curl)
	out, err := exec.CommandContext(t.Context(), "sh", "-c", line+" --silent").CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return string(out)
}

// The line of a fault repeats it in a terminal, and prints the proof, or why the fault is impossible now. In a class it needs the token of
// the trainer, which it takes from the environment. A participant gets no line, and no button.
func TestTheLineOfAFaultRepeatsItForTheTrainer(t *testing.T) {
	_, base := serversOf(t, &Class{Token: token}, nil)
	client := trains(t, base)
	send(t, client, http.MethodPost, base+"/ui/servers/start", nil, nil)
	visitors := looks(t, base, "faults", "servers")
	visitors.until("servers", "redis-1")
	send(t, client, http.MethodPost, base+"/ui/servers/redis-1/kill", nil, nil)
	if text := visitors.until("faults", "<b>kill redis-1</b>"); strings.Contains(text, "<code>") || strings.Contains(text, "<button") {
		t.Errorf("a visitor sees %s", text)
	}
	_, page := send(t, client, http.MethodGet, base+"/ui/servers", nil, nil)
	kill := lineOf(t, page, "redis-1/kill")
	if !strings.Contains(page, "LAB_TRAINER_TOKEN") || strings.Contains(page, token) {
		t.Errorf("the page does not name the variable, or has the token: %s", page)
	}
	restart := strings.TrimSuffix(kill, "kill") + "restart"
	for _, c := range []struct{ token, line, begins string }{
		{"", restart, "Only the trainer may do that.\n"},
		{token + "x", restart, "Only the trainer may do that.\n"},
		{token, strings.ReplaceAll(restart, "Bearer ", ""), "Only the trainer may do that.\n"},
		{token, kill, "To kill redis-1 is not possible now: it has ended; restart it first."},
		{token, restart, "restart redis-1: "},
		{token, kill, "kill redis-1: process "},
	} {
		t.Setenv("LAB_TRAINER_TOKEN", c.token)
		if says := curl(t, c.line); !strings.HasPrefix(says, c.begins) || strings.Contains(says, "<") {
			t.Errorf("with the token %q %s prints %s", c.token, c.line, says)
		}
	}
}

// lineOf is the line for a terminal, of a text of the page, that ends as given.
func lineOf(t *testing.T, text, end string) string {
	t.Helper()
	for _, code := range strings.Split(text, "<code>")[1:] {
		if line, _, _ := strings.Cut(code, "</code>"); strings.HasSuffix(line, end) {
			return html.UnescapeString(line)
		}
	}
	t.Fatalf("no line ends with %q in %s", end, text)
	return ""
}

// A page without instances says so.
func TestAPageWithoutInstancesSaysSo(t *testing.T) {
	_, base := serving(t)
	if _, page := get(t, base+"/ui/servers"); !strings.Contains(page, "did not start the instances") || strings.Contains(page, "<button") {
		t.Error(page)
	}
	for _, path := range []string{"start", "load"} {
		status, body := do(t, http.MethodPost, base+"/ui/servers/"+path, url.Values{"version": {"v3"}, "clients": {"2"}}, nil)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "app lab serve") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
