package burst

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/versions"
)

// app is a service without faults that alternates between two names of instances, and keeps what it was asked.
type app struct {
	mu                    sync.Mutex
	asked                 []string
	views, grabbed, calls int // since the last reset, order or deletion of the log
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.Method+" "+r.URL.String())
	posted, last := r.Method == http.MethodPost, r.URL.Path[strings.LastIndex(r.URL.Path, "/"):]
	name := func(n int) string { return string(rune('a' + n%2)) }
	answer, status := map[string]any{}, http.StatusOK
	switch {
	case posted && last == "/pview":
		a.views++
		answer = map[string]any{"instance": name(a.views), "value": a.views}
	case last == "/pview":
		if r.Method == http.MethodPut {
			a.views = 0
		}
		answer["value"] = a.views
	case posted && last == "/orders":
		a.grabbed, answer["id"] = 0, 5
	case last == "/grab":
		if a.grabbed++; a.grabbed > 1 {
			status = http.StatusConflict
		}
		answer = map[string]any{"instance": name(a.grabbed), "won": a.grabbed == 1, "winner": 1}
	case last == "/call":
		if a.calls++; a.calls > 2 {
			status = http.StatusTooManyRequests
		}
		answer["instance"] = name(a.calls)
	case last == "/rates":
		answer = map[string]any{"calls": min(a.calls, 2), "over": 1}
	default: // an order
		answer["winners"] = []winner{{Driver: 1, Instance: "b", Fence: 7}}
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// serve is where a service is until the end of the test.
func serve(t *testing.T, handler http.Handler) Target {
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return Target{URL: server.URL}
}

// A plan sends the bursts of each version in each round, and says which comes next. One burst before them does not count.
func TestAPlanIsSent(t *testing.T) {
	service := new(app)
	var began []Event
	plan := Plan{Users: 4, Drivers: 2, Rounds: 2, Versions: []string{"v4", "v3"}}
	r, err := plan.Run(testenv.Context(t), serve(t, service), App{}, func(e Event) {
		if _, one := e.(VersionBegan); one {
			began = append(began, e)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []Event
	for i, v := range []string{"v3", "v4", "v3", "v4"} {
		want = append(want, VersionBegan{v, i + 1, 4, i/2 + 1, 2, 4, 2})
		if views, order := r.Pageview[i], r.Order[i]; views.Version != v || order.Version != v || views.Round != i/2+1 || order.Round != i/2+1 {
			t.Errorf("the rows %d are %+v and %+v", i, views, order)
		}
	}
	if !slices.Equal(began, want) || r.Verdict != lab.AsExpected || r.Tool != "app" {
		t.Errorf("it told %+v, want %+v; %s: %s", began, want, r.Verdict, r.Reasons())
	}
	for asked, times := range map[string]int{"POST /v0/pview": 4, "POST /v3/pview": 8, "POST /v4/orders/5/grab?driver=2": 2} {
		if n := len(slices.DeleteFunc(slices.Clone(service.asked), func(one string) bool { return one != asked })); n != times {
			t.Errorf("%s was sent %d times, not %d", asked, n, times)
		}
	}
}

// stumbling sends as [App] does, until one kind of burst of a version fails.
type stumbling struct {
	App
	version      string
	views, grabs bool
}

var errStumbled = errors.New("it stumbled")

func (stumbling) Name() string { return "it" }

func (s stumbling) Views(ctx context.Context, target Target, version string, users int, tell func(Event)) (Views, error) {
	if s.views && version == s.version {
		return Views{}, errStumbled
	}
	return s.App.Views(ctx, target, version, users, tell)
}

func (s stumbling) Grabs(ctx context.Context, target Target, version string, drivers int) (Grabs, error) {
	if s.grabs && version == s.version {
		return Grabs{}, errStumbled
	}
	return s.App.Grabs(ctx, target, version, drivers)
}

// A plan ends with the first burst that its sender cannot send, and names it. The burst before the others is ours.
func TestAPlanNamesTheBurstThatFailed(t *testing.T) {
	for says, sender := range map[string]stumbling{
		"v3, page views by it: it stumbled": {version: "v3", views: true},
		"v4, drivers by it: it stumbled":    {version: "v4", grabs: true},
	} {
		service := new(app)
		plan := Plan{Users: 4, Drivers: 2, Rounds: 1, Versions: []string{"v3", "v4"}}
		r, err := plan.Run(testenv.Context(t), serve(t, service), sender, func(Event) {})
		if r != nil || !errors.Is(err, errStumbled) || err.Error() != says {
			t.Errorf("%+v, %v; want %s", r, err, says)
		}
		if !slices.Contains(service.asked, "POST /v0/pview") {
			t.Errorf("nothing was sent before: %q", service.asked)
		}
	}
}

// A driver waits for the lock as the caller chose, or else as the instances do. The record has the winners that the data have.
func TestDriversGrabAnOrder(t *testing.T) {
	for wait, want := range map[string]string{"": "driver=2", "50ms": "driver=2&wait=50ms"} {
		service := new(app)
		b, err := RunGrabs(testenv.Context(t), serve(t, service), "v3", 2, wait, Sequential)
		if err != nil || b.Sound(2) != nil || !slices.Equal(b.Recorded, []uint64{1}) {
			t.Errorf("%+v: %v, %v", b, err, b.Sound(2))
		}
		if !slices.Contains(service.asked, "POST /v3/orders/5/grab?"+want) {
			t.Errorf("with a wait of %q it sent %q", wait, service.asked)
		}
		if text := lines(b.Wins); text != "0s driver 1: win token 7 by b (driver 1)\n" {
			t.Errorf("the history of the winners is %s", text)
		}
	}
}

// The record of calls says which were made and refused, and how many the supplier has seen since its log was deleted.
func TestCallsToTheSupplier(t *testing.T) {
	service := new(app)
	b, err := RunCalls(testenv.Context(t), serve(t, service), "v3", 4, Sequential)
	if err != nil || service.asked[0] != "DELETE /supplier/v3/rates" || b.Sound(2) != nil || len(b.Made) != 2 || b.Over != 1 {
		t.Errorf("%+v: %v, %v", b, err, b.Sound(2))
	}
	var kinds []history.Kind
	for _, e := range b.Events {
		if e.Kind != history.Request {
			kinds = append(kinds, e.Kind)
		}
	}
	if !slices.Equal(kinds, []history.Kind{history.Call, history.Call, history.Refuse, history.Refuse}) {
		t.Errorf("the events are %v", kinds)
	}
}

// A sustained load has one clock, although each of its connections has few of the page views.
func TestASustainedLoadHasOneClock(t *testing.T) {
	stop, n := make(chan struct{}), 0
	b, err := SustainViews(testenv.Context(t), serve(t, new(app)), "v3", 1, stop, func(Event) {
		if n++; n == perConnection+5 {
			close(stop)
		}
	})
	if err != nil || len(b.Events) != 2*n {
		t.Fatalf("%d events of %d views, %v", len(b.Events), n, err)
	}
	for i, e := range b.Events {
		if written := int64(i+1) / 2; e.Kind == history.Request && i%2 != 0 || e.Kind == history.Write && e.Value != written {
			t.Fatalf("event %d is %s", i, e)
		}
	}
}

// A target with a token sends it, as an instance that demands one requires. Other targets send none.
func TestATargetSendsItsToken(t *testing.T) {
	var got []string
	target := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header["Authorization"] }))
	for token, want := range map[string][]string{"": nil, "secret": {"Bearer secret"}} {
		target.AdminToken = token
		if err := target.reset(testenv.Context(t)); err != nil || !slices.Equal(got, want) {
			t.Errorf("with the token %q it sent %q, %v", token, got, err)
		}
	}
}

// The health of an instance is told apart from the answer of another service, and from none.
func TestAnInstanceIsRecognised(t *testing.T) {
	for _, c := range []struct {
		status              int // 0: nothing listens
		text, health, ready string
	}{
		{200, `{"instance":"a","ready":true}`, "", ""},
		{503, `{"instance":"a","unreachable":{"redis":"dead"}}`, "503", ""},
		{200, `{}`, "is not an instance of this app", "is no instance of ours"},
		{404, `page`, "404", "is no instance of ours"},
		{404, `{}`, "404", "404 Not Found"},
		{0, "", "refused", "refused"},
	} {
		target := Target{URL: "http://127.0.0.1:1"} // nothing listens there
		if c.status > 0 {
			target = serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.text)
			}))
		}
		_, err := target.Health(testenv.Context(t))
		wantError(t, err, c.health)
		ready, err := target.Ready(testenv.Context(t))
		wantError(t, err, c.ready)
		if c.ready == "" && (ready.Ready != (c.status == 200) || (ready.Missing() == "redis: dead") == ready.Ready) {
			t.Errorf("%s says %+v", c.text, ready)
		}
		if c.status == 0 && strings.Contains(err.Error(), "is no instance") {
			t.Errorf("nothing listens, and it says %v", err)
		}
	}
}

// wantError wants an error that says something; empty: none.
func wantError(t *testing.T, err error, says string) {
	t.Helper()
	if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want %q", err, says)
	}
}

// A plan is refused when an instance says that it lacks a version. The error names the flag for it.
func TestAnInstanceLacksVersions(t *testing.T) {
	v4, _ := versions.Find("v4")
	for has, says := range map[string]string{"": "", "v3 v4": "", "v0 v3": "v4 needs " + v4.Flag()} {
		h := Health{Versions: strings.Fields(has)}
		wantError(t, h.Lacks(v4), says)
		wantError(t, h.CanRun(Plan{Versions: []string{"v3", "v4"}}), says)
	}
}
