package handlers_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"locklab/internal/testenv"
)

// A client that goes away frees its position in the queue.
func TestAClientThatStopsWaiting(t *testing.T) {
	for name, leaver := range map[string]struct {
		method string
		body   func() io.Reader
	}{
		"POST":                   {http.MethodPost, func() io.Reader { return nil }},
		"POST with a body":       {http.MethodPost, func() io.Reader { return strings.NewReader(`{"user":1}`) }},
		"POST with chunks":       {http.MethodPost, func() io.Reader { return struct{ io.Reader }{strings.NewReader(`{"user":1}`)} }},
		"POST with a large body": {http.MethodPost, func() io.Reader { return strings.NewReader(padded(4096)) }},
		"GET":                    {http.MethodGet, func() io.Reader { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			finish := s.occupy()
			defer finish()
			for range 3 {
				client, leave := context.WithCancel(testenv.Context(t))
				left := s.start(client, leaver.method, leaver.body())
				testenv.Eventually(t, "it waits", func() bool { return s.cohort.Waiting() == 1 })
				if got := s.scrape()[`locklab_gate_waiting{version="v2"}`]; got != 1 {
					t.Errorf("the metrics show %v waiting", got)
				}
				leave()
				if got := <-left; !errors.Is(got.err, context.Canceled) {
					t.Fatalf("it did not wait: %+v", got)
				}
				testenv.Eventually(t, "its place is free", func() bool { return s.cohort.Waiting() == 0 })
			}
			next := s.start(testenv.Context(t), http.MethodPost, nil)
			testenv.Eventually(t, "the next waits", func() bool { return s.cohort.Waiting() == 1 })
			finish()
			if got := <-next; got.err != nil || got.status != http.StatusOK {
				t.Fatalf("the next got %+v", got)
			}
			testenv.Eventually(t, "all is counted", func() bool {
				series := s.scrape()
				return series[`locklab_requests_total{status="499",version="v2"}`] == 3 &&
					series[`locklab_leases_total{outcome="cancelled",version="v2"}`] == 3 &&
					series[`locklab_requests_total{status="200",version="v2"}`] == 2 &&
					series[`locklab_leases_total{outcome="acquired",version="v2"}`] == 2 &&
					series[`locklab_leases_total{outcome="timed_out",version="v2"}`] == 0
			})
			if s.views.value != 2 {
				t.Errorf("%d views were counted, want those of the first and the next", s.views.value)
			}
		})
	}
}

// A client that goes away while it holds the lock ends the work, and the lock is free.
func TestAClientThatLeavesItsWork(t *testing.T) {
	s := serve(t)
	working := make(chan struct{})
	s.views.inside = func(ctx context.Context) error {
		close(working)
		<-ctx.Done()
		return errors.Join(redisAway, ctx.Err()) // what a call that was cut off says
	}
	client, leave := context.WithCancel(testenv.Context(t))
	left := s.start(client, http.MethodPost, nil)
	<-working
	leave()
	<-left
	testenv.Eventually(t, "it is counted as a client that left", func() bool {
		return s.scrape()[`locklab_requests_total{status="499",version="v2"}`] == 1
	})
	s.views.inside = nil
	if got := s.ask(http.MethodPost, "/v2/pview", ""); got.status != http.StatusOK {
		t.Errorf("the next got %d %s", got.status, got.body)
	}
	if series := s.scrape(); series[`locklab_leases_total{outcome="lost",version="v2"}`] != 0 ||
		series[`locklab_requests_total{status="503",version="v2"}`] != 0 {
		t.Error("the client's end counts as the lock's or the server's")
	}
}

// occupy makes a request hold v2's lock until finish is called, which may be called twice.
func (s *instance) occupy() (finish func()) {
	s.t.Helper()
	holds, end := make(chan struct{}), make(chan struct{})
	var first sync.Once
	s.views.inside = func(context.Context) error {
		first.Do(func() {
			close(holds)
			<-end
		})
		return nil
	}
	done := s.start(testenv.Context(s.t), http.MethodPost, nil)
	<-holds
	return sync.OnceFunc(func() {
		close(end)
		if got := <-done; got.err != nil || got.status != http.StatusOK {
			s.t.Errorf("the holder of the lock got %+v", got)
		}
	})
}

// outcome is what became of a request in the background.
type outcome struct {
	status int
	err    error
}

// start asks v2 to count a view, in the background.
func (s *instance) start(ctx context.Context, method string, body io.Reader) <-chan outcome {
	s.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, s.URL+"/v2/pview", body)
	if err != nil {
		s.t.Fatal(err)
	}
	done := make(chan outcome, 1)
	go func() {
		response, err := s.Client().Do(request)
		if err != nil {
			done <- outcome{err: err}
			return
		}
		_ = response.Body.Close()
		done <- outcome{status: response.StatusCode}
	}()
	return done
}
