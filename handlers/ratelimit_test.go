package handlers_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"locklab/handlers"
	"locklab/systems/ratelimit"
)

// fakeSupplier keeps its log in memory.
type fakeSupplier struct {
	mutex
	calls map[string][]time.Time
	err   error // returned by every call, if set
}

func (s *fakeSupplier) Call(_ context.Context, name string) error {
	defer s.lock()()
	s.calls[name] = append(s.calls[name], noon.Add(time.Duration(len(s.calls[name]))*time.Second))
	return s.err
}

func (s *fakeSupplier) Calls(_ context.Context, name string) ([]time.Time, error) {
	defer s.lock()()
	return s.calls[name], s.err
}

func (s *fakeSupplier) Forget(_ context.Context, name string) error {
	defer s.lock()()
	delete(s.calls, name)
	return s.err
}

// unavailableLimiter is a limiter whose server is down.
type unavailableLimiter struct{}

func (unavailableLimiter) Allow(context.Context, ratelimit.Limit) (ratelimit.State, error) {
	return ratelimit.State{}, ratelimit.ErrUnavailable
}

// loopback is a transport that passes requests to the instance.
type loopback struct{ s *instance }

func (l loopback) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	r = r.Clone(r.Context())
	r.Body = http.NoBody
	l.s.Config.Handler.ServeHTTP(recorder, r)
	return recorder.Result(), nil
}

// withRateLimits adds r0, which has no limit, r3 and r4, which count in the process here, and r5, whose server is down.
func withRateLimits(log *fakeSupplier) func(*instance, *handlers.Config) {
	log.calls = make(map[string][]time.Time)
	return func(s *instance, cfg *handlers.Config) {
		operations := map[string]ratelimit.Limit{
			"rates": {Key: "rates", Count: 3, Window: 90 * time.Second}, "bookings": {Key: "bookings", Count: 1, Window: time.Hour},
		}
		cfg.RateLimits = handlers.RateLimits{
			Operations: operations, Incoming: ratelimit.Limit{Key: "quotes", Count: 2, Window: time.Minute},
			URL: "http://supplier.example", Supplier: log,
		}
		for name, implementation := range map[string]string{"r0": "r0", "r3": "r1", "r4": "r1", "r5": ""} {
			algorithm, _ := ratelimit.Find(name)
			limiter := ratelimit.Limiter(unavailableLimiter{})
			if counter, ok := ratelimit.Find(implementation); ok {
				limiter, _ = counter.Open(nil, 1)
			}
			transport, err := ratelimit.NewTransport(limiter, map[string]ratelimit.Limit{
				"POST " + handlers.SupplierPath(name, "rates"):    operations["rates"],
				"POST " + handlers.SupplierPath(name, "bookings"): operations["bookings"],
			})
			if err != nil {
				s.t.Fatal(err)
			}
			transport.Base = loopback{s}
			cfg.RateLimits.Algorithms = append(cfg.RateLimits.Algorithms,
				handlers.Algorithm{Algorithm: algorithm, Limiter: limiter, Outgoing: transport})
		}
	}
}

func (r response) wantHeaders(t *testing.T, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := r.header.Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

// The fourth call in the window is refused with the time after which to retry, and does not reach the supplier.
func TestSupplierCallLimit(t *testing.T) {
	s := serve(t, withRateLimits(&fakeSupplier{}))
	for n := range 4 {
		got := s.do(http.MethodPost, "/r3/supplier/call", "")
		if n < 3 {
			if got.status != http.StatusOK || !strings.Contains(got.body, `"algorithm":"r3"`) || !strings.Contains(got.body, `"operation":"rates"`) {
				t.Errorf("call %d: %d %s", n, got.status, got.body)
			}
			got.wantHeaders(t, map[string]string{
				"RateLimit-Limit": "3", "RateLimit-Remaining": []string{"2", "1", "0"}[n], "RateLimit-Reset": "90", "RateLimit-Policy": "3;w=90",
				"Retry-After": "",
			})
			continue
		}
		got.wantError(t, http.StatusTooManyRequests, "rates allows 3 calls in 1m30s; come back in")
		got.wantHeaders(t, map[string]string{"Retry-After": "90", "RateLimit-Limit": "3", "RateLimit-Remaining": "0"})
		if !strings.Contains(got.body, `"instance":"8080"`) {
			t.Errorf("the response does not name the instance: %s", got.body)
		}
		if strings.Contains(got.body, "supplier.example") {
			t.Errorf("the response reveals the URL of the supplier: %s", got.body)
		}
	}
	if got := s.get("/supplier/r3/rates"); got.body != `{"calls":3,"limit":3,"window_ms":90000,"most_in_one_window":3,"over":0}`+"\n" {
		t.Errorf("the report is %s", got.body)
	}
	if got := s.do(http.MethodPost, "/r4/supplier/call", ""); got.status != http.StatusOK {
		t.Errorf("r4 shares the limit of r3: %d %s", got.status, got.body)
	}
	if got := s.do(http.MethodPost, "/r3/supplier/call?operation=bookings", ""); got.status != http.StatusOK {
		t.Errorf("bookings share the limit of rates: %d %s", got.status, got.body)
	}
}

func TestSupplierReport(t *testing.T) {
	s := serve(t, withRateLimits(&fakeSupplier{}))
	for range 5 {
		s.do(http.MethodPost, "/r0/supplier/call", "")
	}
	if got := s.get("/supplier/r0/rates"); !strings.Contains(got.body, `"most_in_one_window":5,"over":2`) {
		t.Errorf("the report is %s", got.body)
	}
	if got := s.do(http.MethodDelete, "/supplier/r0/rates", ""); got.status != http.StatusNoContent {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.get("/supplier/r0/rates"); !strings.Contains(got.body, `"calls":0`) {
		t.Errorf("after the reset the report is %s", got.body)
	}
}

func TestIncomingLimit(t *testing.T) {
	s := serve(t, withRateLimits(&fakeSupplier{}))
	for n := range 3 {
		got := s.get("/r3/quotes")
		if n < 2 {
			got.wantHeaders(t, map[string]string{"RateLimit-Limit": "2", "RateLimit-Remaining": []string{"1", "0"}[n]})
			got.wantJSON(t, http.StatusOK, map[string]any{"instance": "8080", "quote": "80 for two nights"})
			continue
		}
		got.wantError(t, http.StatusTooManyRequests, "quotes allows 2 calls in 1m; come back in")
		got.wantHeaders(t, map[string]string{"Retry-After": "60"})
	}
}

func TestSupplierErrors(t *testing.T) {
	log := &fakeSupplier{}
	s := serve(t, withRateLimits(log))
	for _, c := range []struct {
		method, path string
		status       int
		want         string // in the error
	}{
		{"POST", "/r3/supplier/call?operation=", 400, `no operation ""; choose one of bookings, rates`},
		{"POST", "/r3/supplier/call?operation=tours", 400, `no operation "tours"`},
		{"POST", "/r3/supplier/call?operation=rates&operation=rates", 400, "give it once"},
		{"POST", "/supplier/r77/rates", 400, `no algorithm "r77"`},
		{"GET", "/supplier/r3/tours", 400, `no operation "tours"`},
		{"POST", "/r77/supplier/call", 404, "GET / lists"},
		{"GET", "/r3/supplier/call", 405, "POST"},
		{"POST", "/r5/supplier/call", 503, "unavailable"},
		{"GET", "/r5/quotes", 503, "unavailable"},
	} {
		s.do(c.method, c.path, "").wantError(t, c.status, c.want)
	}
	log.err = ratelimit.ErrUnavailable
	s.do(http.MethodPost, "/r0/supplier/call", "").wantError(t, http.StatusBadGateway, "the supplier gave no usable answer: status 503")
	s.get("/supplier/r0/rates").wantError(t, http.StatusServiceUnavailable, "unavailable")
}

// A supplier whose answer is of no use makes a 502: its status is none of success, or the connection breaks before the response or
// within it.
func TestSupplierWithoutAUsableAnswer(t *testing.T) {
	for says, transport := range map[string]http.RoundTripper{
		"status 302": statusTransport(http.StatusFound), "status 404": statusTransport(http.StatusNotFound),
		"reset by peer": brokenTransport(false), "reset by peer ": brokenTransport(true),
	} {
		s := serve(t, withRateLimits(&fakeSupplier{}), func(_ *instance, cfg *handlers.Config) {
			for i := range cfg.RateLimits.Algorithms {
				cfg.RateLimits.Algorithms[i].Outgoing = transport
			}
		})
		s.do(http.MethodPost, "/r3/supplier/call", "").wantError(t, http.StatusBadGateway, "no usable answer", strings.TrimSpace(says))
	}
}

// statusTransport responds with a status.
type statusTransport int

func (status statusTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(status), Body: http.NoBody}, nil
}

// brokenTransport breaks the connection: if true, after the header of the response, otherwise before it.
type brokenTransport bool

func (afterHeader brokenTransport) RoundTrip(*http.Request) (*http.Response, error) {
	reset := errors.New("reset by peer")
	if afterHeader {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(iotest.ErrReader(reset))}, nil
	}
	return nil, reset
}
