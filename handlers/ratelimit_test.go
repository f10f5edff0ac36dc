package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"locklab/handlers"
	"locklab/ratelimit"
)

// supplier is a log in memory.
type supplier struct {
	mutex
	calls map[string][]time.Time
	err   error // every call's, if set
}

func (s *supplier) Call(_ context.Context, name string) error {
	defer s.lock()()
	s.calls[name] = append(s.calls[name], noon.Add(time.Duration(len(s.calls[name]))*time.Second))
	return s.err
}

func (s *supplier) Calls(_ context.Context, name string) ([]time.Time, error) {
	defer s.lock()()
	return s.calls[name], s.err
}

func (s *supplier) Forget(_ context.Context, name string) error {
	defer s.lock()()
	delete(s.calls, name)
	return s.err
}

// unreachable is a limiter without its server.
type unreachable struct{}

func (unreachable) Allow(context.Context, ratelimit.Limit) (ratelimit.State, error) {
	return ratelimit.State{}, ratelimit.ErrUnavailable
}

// itself sends requests to the instance.
type itself struct{ s *instance }

func (i itself) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	r = r.Clone(r.Context())
	r.Body = http.NoBody
	i.s.Config.Handler.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

// limited adds r0, which is not limited, r3 and r4, whose counter is in the process here, and r5, whose server is down.
func limited(log *supplier) func(*instance, *handlers.Config) {
	log.calls = make(map[string][]time.Time)
	return func(s *instance, cfg *handlers.Config) {
		operations := map[string]ratelimit.Limit{
			"rates": {Key: "rates", Count: 3, Window: 90 * time.Second}, "bookings": {Key: "bookings", Count: 1, Window: time.Hour},
		}
		cfg.Limited = handlers.Limited{
			Operations: operations, Incoming: ratelimit.Limit{Key: "quotes", Count: 2, Window: time.Minute},
			URL: "http://supplier.example", Supplier: log,
		}
		for name, as := range map[string]string{"r0": "r0", "r3": "r1", "r4": "r1", "r5": ""} {
			algorithm, _ := ratelimit.Find(name)
			limiter := ratelimit.Limiter(unreachable{})
			if counter, ok := ratelimit.Find(as); ok {
				limiter, _ = counter.Open(nil, 1)
			}
			transport, err := ratelimit.NewTransport(limiter, map[string]ratelimit.Limit{
				"POST " + handlers.SupplierPath(name, "rates"):    operations["rates"],
				"POST " + handlers.SupplierPath(name, "bookings"): operations["bookings"],
			})
			if err != nil {
				s.t.Fatal(err)
			}
			transport.Base = itself{s}
			cfg.Limited.Algorithms = append(cfg.Limited.Algorithms, handlers.Algorithm{Algorithm: algorithm, Limiter: limiter, Outgoing: transport})
		}
	}
}

func (a answer) hasHeaders(t *testing.T, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := a.header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

// The fourth call in the window is refused, with the time to come back, and does not reach the supplier.
func TestCallsToTheSupplierAreLimited(t *testing.T) {
	s := serve(t, limited(&supplier{}))
	for n := range 4 {
		got := s.ask(http.MethodPost, "/r3/supplier/call", "")
		if n < 3 {
			if got.status != http.StatusOK || !strings.Contains(got.body, `"algorithm":"r3"`) || !strings.Contains(got.body, `"operation":"rates"`) {
				t.Errorf("call %d: %d %s", n, got.status, got.body)
			}
			got.hasHeaders(t, map[string]string{
				"RateLimit-Limit": "3", "RateLimit-Remaining": []string{"2", "1", "0"}[n], "RateLimit-Reset": "90", "RateLimit-Policy": "3;w=90",
				"Retry-After": "",
			})
			continue
		}
		got.fails(t, http.StatusTooManyRequests, "rates allows 3 calls in 1m30s; come back in")
		got.hasHeaders(t, map[string]string{"Retry-After": "90", "RateLimit-Limit": "3", "RateLimit-Remaining": "0"})
		if !strings.Contains(got.body, `"instance":"8080"`) {
			t.Errorf("the refusal does not name the instance: %s", got.body)
		}
		if strings.Contains(got.body, "supplier.example") {
			t.Errorf("it tells where the supplier is: %s", got.body)
		}
	}
	if got := s.get("/supplier/r3/rates"); got.body != `{"calls":3,"limit":3,"window_ms":90000,"most_in_one_window":3,"over":0}`+"\n" {
		t.Errorf("the supplier says %s", got.body)
	}
	if got := s.ask(http.MethodPost, "/r4/supplier/call", ""); got.status != http.StatusOK {
		t.Errorf("r4 has the limit of r3: %d %s", got.status, got.body)
	}
	if got := s.ask(http.MethodPost, "/r3/supplier/call?operation=bookings", ""); got.status != http.StatusOK {
		t.Errorf("bookings have the limit of rates: %d %s", got.status, got.body)
	}
}

func TestTheSupplierSeesCallsOverItsLimit(t *testing.T) {
	s := serve(t, limited(&supplier{}))
	for range 5 {
		s.ask(http.MethodPost, "/r0/supplier/call", "")
	}
	if got := s.get("/supplier/r0/rates"); !strings.Contains(got.body, `"most_in_one_window":5,"over":2`) {
		t.Errorf("the supplier says %s", got.body)
	}
	if got := s.ask(http.MethodDelete, "/supplier/r0/rates", ""); got.status != http.StatusNoContent {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.get("/supplier/r0/rates"); !strings.Contains(got.body, `"calls":0`) {
		t.Errorf("forgotten, the supplier says %s", got.body)
	}
}

func TestAnIncomingRouteIsLimited(t *testing.T) {
	s := serve(t, limited(&supplier{}))
	for n := range 3 {
		got := s.get("/r3/quotes")
		if n < 2 {
			got.hasHeaders(t, map[string]string{"RateLimit-Limit": "2", "RateLimit-Remaining": []string{"1", "0"}[n]})
			if got.status != http.StatusOK {
				t.Errorf("%d %s", got.status, got.body)
			}
			continue
		}
		got.fails(t, http.StatusTooManyRequests, "quotes allows 2 calls in 1m; come back in")
		got.hasHeaders(t, map[string]string{"Retry-After": "60"})
	}
}

func TestLimitsThatCannotWork(t *testing.T) {
	log := &supplier{}
	s := serve(t, limited(log), func(_ *instance, cfg *handlers.Config) { cfg.AdminToken = token })
	for _, c := range []struct {
		method, path string
		status       int
		says         string
	}{
		{"POST", "/r3/supplier/call?operation=", 400, `no operation ""; operation is one of bookings, rates`},
		{"POST", "/r3/supplier/call?operation=tours", 400, `no operation "tours"`},
		{"POST", "/r3/supplier/call?operation=rates&operation=rates", 400, "give it once"},
		{"POST", "/r3/supplier/call?operation=" + strings.Repeat("x", 300), 400, "no operation"},
		{"POST", "/supplier/r77/rates", 400, `no algorithm "r77"`},
		{"GET", "/supplier/r3/tours", 400, `no operation "tours"`},
		{"DELETE", "/supplier/r3/rates", 401, "admin token"},
		{"POST", "/r77/supplier/call", 404, "GET / lists"},
		{"GET", "/r3/supplier/call", 405, "POST"},
		{"POST", "/r5/supplier/call", 503, "unavailable"},
		{"GET", "/r5/quotes", 503, "unavailable"},
	} {
		s.ask(c.method, c.path, "").fails(t, c.status, c.says)
	}
	log.err = ratelimit.ErrUnavailable
	s.ask(http.MethodPost, "/r0/supplier/call", "").fails(t, http.StatusBadGateway, "the supplier gave no usable answer: status 503")
	s.get("/supplier/r0/rates").fails(t, http.StatusServiceUnavailable, "unavailable")
}

// A supplier that cannot be reached, and one whose answer is cut off.
func TestASupplierThatDoesNotAnswer(t *testing.T) {
	for _, answers := range []bool{false, true} {
		s := serve(t, limited(&supplier{}), func(_ *instance, cfg *handlers.Config) {
			for i := range cfg.Limited.Algorithms {
				cfg.Limited.Algorithms[i].Outgoing = broken(answers)
			}
		})
		s.ask(http.MethodPost, "/r3/supplier/call", "").fails(t, http.StatusBadGateway, "no usable answer", "reset by peer")
	}
}

// A supplier that answers, but not with what was asked for.
func TestASupplierThatRefuses(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusUnauthorized, http.StatusNotFound} {
		s := serve(t, limited(&supplier{}), func(_ *instance, cfg *handlers.Config) {
			for i := range cfg.Limited.Algorithms {
				cfg.Limited.Algorithms[i].Outgoing = refusing(status)
			}
		})
		s.ask(http.MethodPost, "/r3/supplier/call", "").fails(t, http.StatusBadGateway, fmt.Sprintf("no usable answer: status %d", status))
	}
}

type refusing int

func (status refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(status), Body: http.NoBody}, nil
}

// broken breaks a connection, after the header of the answer or before.
type broken bool

func (answers broken) RoundTrip(*http.Request) (*http.Response, error) {
	reset := errors.New("reset by peer")
	if answers {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(iotest.ErrReader(reset))}, nil
	}
	return nil, reset
}

func TestTheHomePageShowsTheLimits(t *testing.T) {
	s := serve(t, limited(&supplier{}))
	lines := 0
	for _, line := range curls(s.get("/").body) {
		if !strings.Contains(line, "supplier") && !strings.Contains(line, "quotes") {
			continue
		}
		lines++
		if _, path, got := s.curl(line); got.status >= 400 && !strings.HasPrefix(path, "/r5/") {
			t.Errorf("%s: %d %s", line, got.status, got.body)
		}
	}
	if lines != 4+4 {
		t.Errorf("%d lines", lines)
	}
}
