package burst

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/lab/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func numbered(i int) string { return fmt.Sprintf("/?n=%d", i) }

// All requests of a burst must be on their way before one is answered: this server answers no request before it has all.
func TestBurstIsSimultaneous(t *testing.T) {
	const users = 300
	var asked sync.WaitGroup
	asked.Add(users)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Done()
		asked.Wait()
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, r.URL.Query().Get("n"))
	}))
	defer server.Close()
	requests := Target{URL: server.URL}.requests(users, numbered)
	answers, _, err := Simultaneous(t.Context(), server.URL, requests)
	if err != nil || took(answers) <= 0 {
		t.Fatal(took(answers), err)
	}
	var lastSent, firstGot time.Duration = 0, time.Hour
	for _, a := range answers {
		lastSent, firstGot = max(lastSent, a.Sent), min(firstGot, a.Got)
	}
	if lastSent > firstGot {
		t.Errorf("the last request was sent after %s, and the first answered after %s", lastSent, firstGot)
	}
	for i, a := range answers {
		if a.Err != nil || a.Status != http.StatusTeapot || string(a.Body) != fmt.Sprint(i) {
			t.Fatalf("answer %d is %+v", i, a)
		}
	}
}

// A request that arrives before the last answer is too early.
func TestSequentialIsOneAfterTheOther(t *testing.T) {
	var inside atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if inside.Add(1) > 1 {
			t.Error("two simultaneous requests")
		}
		fmt.Fprint(w, r.URL.Query().Get("n"))
		inside.Add(-1)
	}))
	defer server.Close()
	requests := Target{URL: server.URL}.requests(20, numbered)
	answers, _, err := Sequential(t.Context(), server.URL, requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Err != nil || string(a.Body) != fmt.Sprint(i) || i > 0 && a.Sent < answers[i-1].Got {
			t.Fatalf("answer %d is %+v", i, a)
		}
	}
}

// As many requests are on their way as there are clients, and no more: this server answers none before it has that many.
func TestClientsShareTheRequests(t *testing.T) {
	const clients, rounds = 5, 4
	arrived, over := make(chan struct{}), make(chan struct{})
	var inside atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if inside.Add(1) > clients {
			t.Error("more requests than clients")
		}
		arrived <- struct{}{}
		<-over
		fmt.Fprint(w, r.URL.Query().Get("n"))
	}))
	defer server.Close()
	go func() {
		for range rounds {
			for range clients {
				<-arrived
			}
			inside.Store(0)
			for range clients {
				over <- struct{}{}
			}
		}
	}()
	answers, _, err := Shared(clients, 0)(t.Context(), server.URL, Target{URL: server.URL}.requests(clients*rounds, numbered))
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if a.Err != nil || string(a.Body) != fmt.Sprint(i) {
			t.Fatalf("answer %d is %+v", i, a)
		}
	}
}

func TestBurstEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	answers, _, err := Simultaneous(ctx, server.URL, Target{URL: server.URL}.requests(1, numbered))
	if err == nil || answers[0].Err == nil {
		t.Fatalf("a burst that was cancelled has answers %+v and error %v", answers, err)
	}
}

func TestBurstThatCannotBeginSaysSo(t *testing.T) {
	const base = "http://127.0.0.1:1" // nothing listens there
	if _, _, err := Simultaneous(t.Context(), base, Target{URL: base}.requests(1, numbered)); err == nil {
		t.Fatal("a burst without a server began")
	}
}

func TestCallNamesWhatFailed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no such thing", http.StatusNotFound)
	}))
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()
	err := Target{URL: server.URL}.call(t.Context(), http.MethodGet, "/x", "", nil)
	if want := "GET /x: 404 Not Found: no such thing"; err == nil || err.Error() != want {
		t.Fatalf("got %v, want %q", err, want)
	}
}

// An answer is told while others are still awaited: this server answers the next request when the one before has been told. Two
// instances write the same value, so one update is lost. A refusal does not count, and a request that failed may have counted.
func TestAnAnswerIsToldAsItArrives(t *testing.T) {
	replies := []struct {
		status int
		text   string
	}{
		{http.StatusOK, `{"instance":"a","value":1}`},
		{http.StatusOK, `{"instance":"b","value":1}`},
		{http.StatusOK, `{"instance":"b","value":2}`},
		{http.StatusConflict, `{"error":"stale","stale":true,"instance":"b","value":9}`},
		{http.StatusTeapot, "no"},
	}
	next := make([]chan struct{}, len(replies)+1)
	for i := range next {
		next[i] = make(chan struct{})
	}
	close(next[0])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("n"))
		select {
		case <-next[n]:
		case <-r.Context().Done():
		}
		w.WriteHeader(replies[n].status)
		fmt.Fprint(w, replies[n].text)
	}))
	defer server.Close()
	var told []Event
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	send := telling("v1", func(e Event) {
		told = append(told, e)
		close(next[len(told)])
	})
	if _, _, err := send(ctx, server.URL, Target{URL: server.URL}.requests(len(replies), numbered)); err != nil {
		t.Fatal(err)
	}
	want := []Event{
		Answered{Version: "v1", Instance: "a", Value: 1, Confirmed: 1, Newest: 1},
		Answered{Version: "v1", Instance: "b", Value: 1, Confirmed: 1, Newest: 1, Lost: 1},
		Answered{Version: "v1", Instance: "b", Value: 2, Confirmed: 2, Newest: 2, Lost: 1},
		Answered{Version: "v1", Instance: "b", Stale: true, Confirmed: 2, Newest: 2, Lost: 1},
		Answered{Version: "v1", Failed: "status 418: no", Lost: 1},
	}
	if !slices.Equal(told, want) {
		t.Errorf("it told\n%+v, want\n%+v", told, want)
	}
}

// A plan that cannot be sent says which field is wrong, and what to take instead.
func TestAPlanIsBounded(t *testing.T) {
	good := Plan{Users: 666, Drivers: 20, Rounds: 1, Versions: []string{"v1", "v3"}}
	for says, change := range map[string]func(*Plan){
		"":                               func(*Plan) {},
		"users is 7; it must be even":    func(p *Plan) { p.Users = 7 },
		"users is 0; it must be from 2":  func(p *Plan) { p.Users = 0 },
		"users is 4002; it must be":      func(p *Plan) { p.Users = MostUsers + 2 },
		"drivers is 3; it must be even":  func(p *Plan) { p.Drivers = 3 },
		"rounds is 0; it must be from 1": func(p *Plan) { p.Rounds = 0 },
		"versions is empty; name":        func(p *Plan) { p.Versions = nil },
		"versions names v99":             func(p *Plan) { p.Versions = []string{"v1", "v99"} },
		"versions names v1 twice":        func(p *Plan) { p.Versions = []string{"v1", "v1"} },
	} {
		plan := good
		change(&plan)
		if err := plan.Validate(); (err == nil) != (says == "") || err != nil && !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", plan, err, says)
		}
	}
}
