package live

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"locklab/lab/burst"
	"locklab/lab/live/bench"
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
	first, second := looks(t, base, "servers"), looks(t, base, "servers")
	newest, proofs, instances := looks(t, base, "newest"), looks(t, base, "faults"), looks(t, base, "instances")
	first.until("servers", "Start the instances")
	do(t, http.MethodPost, base+"/ui/servers/start", nil, nil)
	instances.until("instances", "could not be started: no port is free")
	do(t, http.MethodPost, base+"/ui/servers/start", nil, nil)
	first.until("servers", "redis-1", ">pause</button>")
	for _, c := range [][]string{
		{"pause", "no thread of process", "resume", "was paused."},
		{"resume", "answers", "pause", "was resumed."},
		{"cut", "were dropped", "mend", "was cut off."},
	} {
		if status, body := do(t, http.MethodPost, base+"/ui/servers/redis-1/"+c[0], nil, nil); status != http.StatusOK {
			t.Fatal(c, status, body)
		}
		newest.until("newest", "<b>redis-1</b> "+c[3])
		proofs.until("faults", "Proof: ", c[1], "/ui/servers/redis-1/"+c[0])
		for _, browser := range []looker{first, second} {
			browser.until("servers", ">"+c[2]+"</button>")
		}
	}
	if _, page := get(t, base+"/ui/servers"); !strings.Contains(page, "cut off") || !strings.Contains(page, "<b>redis-1</b> was paused.") {
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
	if v := s.bench.View(); s.isBusy("load") || len(v.Faults) > 0 {
		t.Errorf("%+v", v)
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
	if err := s.start(job{"other", link{"/ui/burst", "Burst"}, func(context.Context) func() { <-release; return func() {} }}); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the load before is gone", func() bool { return !s.isBusy("load") })
	if status, body := do(t, http.MethodPost, base+"/ui/servers/load", form, nil); status != http.StatusOK {
		t.Error(status, body)
	}
	status, body := do(t, http.MethodPost, base+"/ui/servers/load", form, nil)
	if status != http.StatusConflict || !strings.Contains(body, "stop it first") {
		t.Error(status, body)
	}
	looker.until("load", `<a href="/ui/burst">Burst</a> runs now`)
	do(t, http.MethodPost, base+"/ui/servers/stop", nil, nil)
	if text := looker.until("load", "The load has no result. It was stopped."); strings.Contains(text, "<svg") {
		t.Errorf("a load that has not begun has a plot: %s", text)
	}
	close(release)
}

// While a burst waits behind another run, a browser that shows the servers still sees what happens to them.
func TestServersAreWatchedWhileABurstWaits(t *testing.T) {
	t.Parallel()
	s, base := serversOf(t, nil, nil)
	servers, waiting := looks(t, base, "servers"), looks(t, base, runPart(burstName))
	do(t, http.MethodPost, base+"/ui/servers/start", nil, nil)
	servers.until("servers", "redis-1")
	release := make(chan struct{})
	if err := s.start(job{"other", link{"/ui/burst", "Burst"}, func(context.Context) func() { <-release; return func() {} }}); err != nil {
		t.Fatal(err)
	}
	defer close(release)
	do(t, http.MethodPost, base+"/ui/burst", plan("2", "v3"), nil)
	waiting.until(runPart(burstName), "waits until it ends")
	s.bench.Instances().Redis.Nodes[0].Kill()
	servers.until("servers", ">ended<")
}

// A load is watched, too, and ends as it would without the burst behind it. Then the burst runs.
func TestALoadIsWatchedWhileABurstWaits(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	s, base := bursting(t, nil)
	load, line, waiting := looks(t, base, "load"), looks(t, base, "load-line"), looks(t, base, runPart(burstName))
	do(t, http.MethodPost, base+"/ui/servers/load", url.Values{"version": {"v3"}, "clients": {"2"}, "rate": {"50"}}, nil)
	load.until("load", "A load of v3 runs.")
	line.until("load-line", "rate=50")
	do(t, http.MethodPost, base+"/ui/burst", plan("20", "v3"), nil)
	waiting.until(runPart(burstName), "waits until it ends")
	do(t, http.MethodPost, base+"/ui/servers/redis-1/pause", nil, nil)
	do(t, http.MethodPost, base+"/ui/servers/redis-1/resume", nil, nil)
	load.until("load", "resume redis-1")
	do(t, http.MethodPost, base+"/ui/servers/stop", nil, nil)
	load.until("load", "not judged")
	looks(t, base, burstName).until(burstName, "v3 lost nothing")
	if l := s.bench.Load(0); l.Err != nil || l.Judged() {
		t.Errorf("the load ends with %v", l.Err)
	}
}

// A run behind a load says so, and lets the trainer alone end it. When the next one begins, it says that instead.
func TestARunSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	s, base := teaching(t)
	leads, ana := trains(t, base), joined(t, base, "Ana")
	release := make(chan struct{})
	defer close(release)
	for _, j := range []job{
		{loadPart, link{"/ui/servers", "The load on Servers"}, func(ctx context.Context) func() { <-ctx.Done(); return func() {} }},
		{"other", link{"/ui/burst", "Burst"}, func(context.Context) func() { <-release; return func() {} }},
	} {
		if err := s.start(j); err != nil {
			t.Fatal(err)
		}
	}
	send(t, leads, http.MethodPost, base+"/ui/quiz/scene-3/run", nil, nil)
	const stop = `action="/ui/servers/stop"`
	trainers, phone := looksAs(t, leads, base, "scene-3-run"), looksAs(t, ana, base, "scene-3-run")
	trainers.until("scene-3-run", `<a href="/ui/servers">The load on Servers</a>`, stop)
	if text := phone.until("scene-3-run", "The load"); strings.Contains(text, stop) {
		t.Errorf("a participant may stop the load: %s", text)
	}
	send(t, leads, http.MethodPost, base+"/ui/servers/stop", nil, nil)
	if text := trainers.until("scene-3-run", `<a href="/ui/burst">Burst</a>`); strings.Contains(text, stop) {
		t.Errorf("the load has ended, and can be stopped: %s", text)
	}
}

// failedOver is a picture in which a replica has replaced a master that has ended.
func failedOver() *watch.Picture {
	held := watch.Lock{Held: watch.Held{Key: "lock:pview", Owner: "a:7", Token: 33, Left: 9 * time.Second, Listeners: 1}, By: "instance-2"}
	return &watch.Picture{
		Topology: "sentinel", Balancer: "http://127.0.0.1:4000",
		Instances: []watch.Box{{Name: "instance-1", State: watch.Runs}, {Name: "instance-2", State: watch.Runs}},
		Redis: []watch.Box{
			{Name: "master", Was: "master", State: watch.Ended},
			{Name: "replica-1", Role: "master", Was: "master", State: watch.Runs, Locks: []watch.Lock{held}},
			{Name: "replica-2", Role: "replica", Was: "replica", State: watch.Runs, Follows: "replica-1", Linked: true},
			{Name: "replica-3", Role: "replica", Was: "replica", State: watch.Runs, Follows: "replica-1"},
		},
		Sentinels: []watch.Box{{Name: "sentinel-1", State: watch.Runs, Names: "replica-1"}},
		RedLock:   []watch.Box{{Name: "redlock-1", State: watch.Runs, Locks: []watch.Lock{held}}, {Name: "redlock-2", State: watch.Paused}},
	}
}

// The picture has each server in its column, with wires from those that run to the master, and from it to its replicas. The old master
// keeps its place. A lock has the colour of its holder, and one line, however many servers keep it.
func TestServersAreDrawn(t *testing.T) {
	v := serversView{View: bench.View{Picture: failedOver()}}
	var titles, classes []string
	for _, c := range v.Columns() {
		titles = append(titles, fmt.Sprintf("%s %d+%d", c.Title, len(c.Boxes), c.Free))
		for _, w := range c.Wires {
			classes = append(classes, w.Class)
		}
	}
	if is := strings.Join(titles, ", "); is != "Balancer 1+0, Instances 2+0, Redis, sentinel 2+0, Replicas 2+1, Sentinels 1+0" {
		t.Errorf("the columns are %s", is)
	}
	if is := strings.Join(classes, ", "); is != "sends, sends, sends, sends, copies, copies down" {
		t.Errorf("the wires are %s", is)
	}
	for part, wants := range map[string][]string{
		"servers-now": {`class="serverbox client-a"`, `id="of-master"`, ">ended<", "not connected", "</span>→ replica-1"},
		"lock-now":    {`<li class="client-b">`, "<b>instance-2</b> on 2 servers", "9 s left", "1 listening, token 33"},
	} {
		var text strings.Builder
		if err := pages().ExecuteTemplate(&text, part, v); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if strings.Count(text.String(), want) != 1 {
				t.Errorf("%s does not have %q once: %s", part, want, text.String())
			}
		}
	}
}

// What the servers do not say is not shown as a fact: while Redis cannot be asked nobody knows that no lock is held.
func TestLocksOfAServerThatDoesNotAnswer(t *testing.T) {
	for state, knows := range map[watch.State]bool{watch.Runs: true, watch.Paused: false, watch.Silent: false, watch.Ended: false} {
		v := serversView{View: bench.View{Picture: &watch.Picture{Topology: "single", Redis: []watch.Box{{Name: "redis-1", State: state}}}}}
		var text strings.Builder
		if err := pages().ExecuteTemplate(&text, "lock-now", v); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), "No lock is held") != knows {
			t.Errorf("of a server that is %s the page says %s", state, text.String())
		}
	}
}

// A load whose Redis was restarted says where its views are, once it was seen that the counter fell.
func TestALoadThatLostItsCounterSaysWhy(t *testing.T) {
	restarted := watch.Change{At: time.Now(), What: "restart redis-1", Empty: "redis-1"}
	for _, c := range []struct {
		fell time.Time
		of   []watch.Change
		says bool
	}{
		{restarted.At.Add(time.Second), []watch.Change{restarted}, true},
		{time.Time{}, []watch.Change{restarted}, false},
		{restarted.At.Add(-time.Second), []watch.Change{restarted}, false},
		{restarted.At.Add(time.Second), []watch.Change{{At: restarted.At, What: "restart instance-1"}}, false},
	} {
		v := loadView{&bench.Load{Rates: burst.Rates{Lost: 9, FellAt: c.fell}, Changes: c.of}}
		if (v.Anew() != "") != c.says {
			t.Errorf("%+v: %q", c, v.Anew())
		}
	}
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
	visitors := map[string]looker{"faults": looks(t, base, "faults"), "servers": looks(t, base, "servers")}
	visitors["servers"].until("servers", "redis-1")
	send(t, client, http.MethodPost, base+"/ui/servers/redis-1/kill", nil, nil)
	for part, says := range map[string]string{"faults": "<b>redis-1</b> was killed.", "servers": ">ended<"} {
		if text := visitors[part].until(part, says); strings.Contains(text, "<code>") || strings.Contains(text, "<button") {
			t.Errorf("a visitor sees %s", text)
		}
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
