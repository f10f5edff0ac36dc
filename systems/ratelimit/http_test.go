package ratelimit_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"locklab/systems/ratelimit"
)

// supplier counts the requests that arrive.
func supplier(t *testing.T) (url string, calls *int) {
	t.Helper()
	calls = new(int)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*calls++
		if r.URL.Path == "/own" {
			w.Header().Set("RateLimit-Limit", "77")
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func transport(t *testing.T, limits map[string]ratelimit.Limit) *ratelimit.Transport {
	t.Helper()
	tr, err := ratelimit.NewTransport(open(t, client(t, "127.0.0.1:1"), "r1", 1)[0], limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	return tr
}

var twoAnHour = ratelimit.Limit{Key: "rates", Count: 2, Window: 90*time.Minute + time.Millisecond}

func TestTransport(t *testing.T) {
	url, calls := supplier(t)
	c := http.Client{Transport: transport(t, map[string]ratelimit.Limit{"POST /rates": twoAnHour, "POST /quotes/{hotel}": twoAnHour})}
	for n, path := range []string{"/rates", "/quotes/7", "/rates", "/quotes/8"} { // two operations share a limit
		response, err := c.Post(url+path, "", strings.NewReader("x"))
		refusal := new(ratelimit.Refusal)
		switch {
		case n >= 2:
			if !errors.As(err, &refusal) || refusal.After <= 0 {
				t.Errorf("call %d: %v", n, err)
			}
			continue
		case err != nil:
			t.Fatal(err)
		}
		response.Body.Close()
		for header, want := range map[string]string{
			"RateLimit-Limit": "2", "RateLimit-Policy": "2;w=5401", "RateLimit-Remaining": []string{"1", "0"}[n], "RateLimit-Reset": "5401",
		} {
			if got := response.Header.Get(header); got != want {
				t.Errorf("call %d: %s is %q, want %q", n, header, got, want)
			}
		}
	}
	if *calls != 2 {
		t.Errorf("the supplier got %d calls", *calls)
	}
	response, err := c.Get(url + "/rates") // another operation, which is not declared
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if *calls != 3 || response.Header.Get("RateLimit-Limit") != "" {
		t.Errorf("an operation without a limit: %d calls, %v", *calls, response.Header)
	}
}

// A supplier that is away is an error of the call, and the call counts: it may have arrived.
func TestTransportToASupplierThatIsAway(t *testing.T) {
	tr := transport(t, map[string]ratelimit.Limit{"POST /rates": twoAnHour})
	away := errors.New("connection refused")
	tr.Base = roundTrip(func(*http.Request) (*http.Response, error) { return nil, away })
	c := http.Client{Transport: tr}
	for n := range 3 {
		_, err := c.Post("http://supplier.test/rates", "", nil)
		refused := errors.As(err, new(*ratelimit.Refusal))
		if errors.Is(err, away) == refused || refused != (n == 2) {
			t.Errorf("call %d: %v", n+1, err)
		}
	}
}

// The body of a request that is refused is closed: net/http requires that of a RoundTripper, also after an error.
func TestTransportClosesABodyThatItDoesNotSend(t *testing.T) {
	tr := transport(t, map[string]ratelimit.Limit{"POST /rates": {Key: "rates", Count: 1, Window: time.Hour}})
	tr.Base = roundTrip(func(*http.Request) (*http.Response, error) { return &http.Response{Header: http.Header{}}, nil })
	for _, want := range []bool{false, true} { // the first request is sent, and its body is that of Base
		b := &body{Reader: strings.NewReader("x")}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://supplier.test/rates", b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.RoundTrip(r); (err != nil) != want || b.closed != want {
			t.Errorf("it is closed: %v, %v; want %v", b.closed, err, want)
		}
	}
}

type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransportKeepsTheSuppliersOwnHeaders(t *testing.T) {
	url, _ := supplier(t)
	c := http.Client{Transport: transport(t, map[string]ratelimit.Limit{"/own": twoAnHour})}
	response, err := c.Get(url + "/own")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if got := response.Header.Get("RateLimit-Limit"); got != "77" {
		t.Errorf("the supplier's header became %q", got)
	}
}

func TestTransportThatAnswers429(t *testing.T) {
	url, calls := supplier(t)
	tr := transport(t, map[string]ratelimit.Limit{"POST /rates": {Key: "rates", Count: 1, Window: 90 * time.Second}})
	tr.Answer = true
	c := http.Client{Transport: tr}
	var last *http.Response
	for range 2 {
		response, err := c.Post(url+"/rates", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		last = response
	}
	if last.StatusCode != http.StatusTooManyRequests || *calls != 1 || last.Header.Get("Retry-After") != "90" ||
		last.Header.Get("RateLimit-Remaining") != "0" || last.Proto != fmt.Sprintf("HTTP/%d.%d", last.ProtoMajor, last.ProtoMinor) {
		t.Errorf("status %d, %s, headers %v, %d calls", last.StatusCode, last.Proto, last.Header, *calls)
	}
}

func TestOperationsThatCannotBeDeclared(t *testing.T) {
	l := open(t, client(t, "127.0.0.1:1"), "r1", 1)[0]
	for _, limits := range []map[string]ratelimit.Limit{
		{"": twoAnHour},
		{"POST rates": twoAnHour},
		{"POST /{": twoAnHour},
		{"POST /rates": {Key: "rates", Count: 0, Window: time.Second}},
		{"/{a}/x": twoAnHour, "/x/{b}": twoAnHour},
	} {
		if _, err := ratelimit.NewTransport(l, limits); !errors.Is(err, ratelimit.ErrInput) {
			t.Errorf("%v is accepted: %v", limits, err)
		}
	}
}
