package handlers_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"locklab/lab/testenv"
)

// A client that disconnects frees its place in the queue.
func TestClientDisconnectsWhileWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		body   func() io.Reader
	}{
		"POST":                   {http.MethodPost, func() io.Reader { return nil }},
		"POST with chunks":       {http.MethodPost, func() io.Reader { return struct{ io.Reader }{strings.NewReader(`{"user":1}`)} }},
		"POST with a large body": {http.MethodPost, func() io.Reader { return strings.NewReader(paddedBody(4096)) }},
		"GET":                    {http.MethodGet, func() io.Reader { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t)
			finish := s.holdLock()
			defer finish()
			for range 3 {
				ctx, disconnect := context.WithCancel(testenv.Context(t))
				done := s.start(ctx, c.method, c.body())
				testenv.Eventually(t, "the request waits", func() bool { return s.queue.Waiting() == 1 })
				if got := s.scrape()[`locklab_gate_waiting{version="v2"}`]; got != 1 {
					t.Errorf("the metrics show %v waiting", got)
				}
				disconnect()
				if got := <-done; !errors.Is(got.err, context.Canceled) {
					t.Fatalf("the request did not wait: %+v", got)
				}
				testenv.Eventually(t, "its place in the queue is free", func() bool { return s.queue.Waiting() == 0 })
			}
			next := s.start(testenv.Context(t), http.MethodPost, nil)
			testenv.Eventually(t, "the next request waits", func() bool { return s.queue.Waiting() == 1 })
			finish()
			if got := <-next; got.err != nil || got.status != http.StatusOK {
				t.Fatalf("the next request got %+v", got)
			}
			testenv.Eventually(t, "all requests are counted", func() bool {
				series := s.scrape()
				return series[`locklab_requests_total{status="499",version="v2"}`] == 3 &&
					series[`locklab_leases_total{outcome="cancelled",version="v2"}`] == 3 &&
					series[`locklab_requests_total{status="200",version="v2"}`] == 2 &&
					series[`locklab_leases_total{outcome="acquired",version="v2"}`] == 2 &&
					series[`locklab_leases_total{outcome="timed_out",version="v2"}`] == 0
			})
			if s.views.value != 2 {
				t.Errorf("%d views were counted, want 2", s.views.value)
			}
		})
	}
}

// A client that disconnects while its request holds the lock ends the work, and the lock is released.
func TestClientDisconnectsWhileHolding(t *testing.T) {
	s := serve(t)
	working := make(chan struct{})
	s.views.inside = func(ctx context.Context) error {
		close(working)
		<-ctx.Done()
		return errors.Join(errRedisDown, ctx.Err()) // the error of a call that was cut off
	}
	ctx, disconnect := context.WithCancel(testenv.Context(t))
	done := s.start(ctx, http.MethodPost, nil)
	<-working
	disconnect()
	<-done
	testenv.Eventually(t, "the request is counted with status 499", func() bool {
		return s.scrape()[`locklab_requests_total{status="499",version="v2"}`] == 1
	})
	s.views.inside = nil
	if got := s.do(http.MethodPost, "/v2/pview", ""); got.status != http.StatusOK {
		t.Errorf("the next request got %d %s", got.status, got.body)
	}
	if series := s.scrape(); series[`locklab_leases_total{outcome="lost",version="v2"}`] != 0 ||
		series[`locklab_requests_total{status="503",version="v2"}`] != 0 {
		t.Error("a disconnected client is counted as a lost lease or as a server error")
	}
}

// holdLock makes a request hold v2's lock until finish is called. Further calls of finish do nothing.
func (s *instance) holdLock() (finish func()) {
	s.t.Helper()
	holding, end := make(chan struct{}), make(chan struct{})
	var first sync.Once
	s.views.inside = func(context.Context) error {
		first.Do(func() {
			close(holding)
			<-end
		})
		return nil
	}
	done := s.start(testenv.Context(s.t), http.MethodPost, nil)
	<-holding
	return sync.OnceFunc(func() {
		close(end)
		if got := <-done; got.err != nil || got.status != http.StatusOK {
			s.t.Errorf("the holder of the lock got %+v", got)
		}
	})
}

// outcome is the result of a request in the background.
type outcome struct {
	status int
	err    error
}

// start sends a page view to v2 in the background.
func (s *instance) start(ctx context.Context, method string, body io.Reader) <-chan outcome {
	s.t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, s.URL+"/v2/pview", body)
	if err != nil {
		s.t.Fatal(err)
	}
	done := make(chan outcome, 1)
	go func() {
		resp, err := s.Client().Do(request)
		if err != nil {
			done <- outcome{err: err}
			return
		}
		_ = resp.Body.Close()
		done <- outcome{status: resp.StatusCode}
	}()
	return done
}
