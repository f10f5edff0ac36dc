package handlers_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"locklab/handlers"
)

// newTarget returns an instance without a network whose fakes never fail, so every 5xx is a bug.
func newTarget(f *testing.F) (*instance, func(t *testing.T, request *http.Request) response) {
	s, cfg := newConfig(f)
	if _, err := s.orders.Create(f.Context()); err != nil {
		f.Fatal(err)
	}
	handler := handlers.New(cfg)
	return s, func(t *testing.T, request *http.Request) response {
		s.orders.attempts, s.views.value = nil, -1
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		got := response{recorder.Code, recorder.Header(), recorder.Body.String()}
		got.checkUsable(t)
		return got
	}
}

// checkUsable fails unless a client can act on the response.
func (r response) checkUsable(t *testing.T) {
	t.Helper()
	switch {
	case r.status >= 499 || r.status < 200 || r.status >= 300 && r.status < 400:
		t.Fatalf("%d %s", r.status, r.body)
	case r.status == http.StatusConflict:
		if why, _ := r.json(t)["why"].(string); why == "" {
			t.Fatalf("the response has no reason: %s", r.body)
		}
	case r.status >= 400:
		r.wantError(t, r.status)
		if len(r.body) > 500 {
			t.Fatalf("an error repeats its input: %s", r.body)
		}
	}
	if (r.status == http.StatusMethodNotAllowed) != (r.header.Get("Allow") != "") {
		t.Fatalf("%d with Allow %q", r.status, r.header.Get("Allow"))
	}
}

// parseRequest returns a request as the server would read it from the wire, or nil.
func parseRequest(method, target, body string) *http.Request {
	wire := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: lab\r\nContent-Length: %d\r\n\r\n%s", method, target, len(body), body)
	request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(wire)))
	if err != nil {
		return nil
	}
	return request
}

var id = regexp.MustCompile(`^0*[1-9][0-9]{0,9}$`)

func FuzzGrab(f *testing.F) {
	for _, seed := range [][3]string{
		{"1", "12", ""},
		{"007", "2147483647", ""},
		{"2147483648", "1", ""},
		{"0", "0", ""},
		{"-1", "+1", ""},
		{"", "", ""},
		{"1", "12", "driver=13"},
		{"1", "12", "x=1&y=2"},
		{"1/../2", "1", "%zz"},
		{"1", "12", ";driver=3"},
		{"１", "٣", "\x00"},
		{strings.Repeat("9", 600), strings.Repeat("8", 300), ""},
		{"9999999999999999999999", "1e3", strings.Repeat("y", 1025)},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	s, send := newTarget(f)
	f.Fuzz(func(t *testing.T, order, driver, raw string) {
		query := "driver=" + url.QueryEscape(driver)
		if raw != "" {
			query += "&" + raw
		}
		for _, version := range []string{"v0", "v2"} {
			request := parseRequest(http.MethodPost, "/"+version+"/orders/"+url.PathEscape(order)+"/grab?"+query, "")
			if request == nil {
				return
			}
			got := send(t, request)
			for _, a := range s.orders.attempts {
				if a.OrderID < 1 || a.OrderID > 1<<31-1 || a.Driver < 1 || a.Driver > 1<<31-1 || !id.MatchString(order) || !id.MatchString(driver) {
					t.Fatalf("%q and %q were accepted as %+v", order, driver, a)
				}
				if fmt.Sprint(a.OrderID, a.Driver) != strings.TrimLeft(order, "0")+" "+strings.TrimLeft(driver, "0") {
					t.Fatalf("%q and %q became %+v", order, driver, a)
				}
			}
			if reached := len(s.orders.attempts) > 0; !reached && (got.status < 400 || got.status == http.StatusConflict) {
				t.Fatalf("%d without an attempt in the store", got.status)
			}
			if raw == "" && len(order) < 10 && len(driver) < 10 && id.MatchString(order) && id.MatchString(driver) && len(s.orders.attempts) != 1 {
				t.Fatalf("%q and %q were rejected: %s", order, driver, got.body)
			}
		}
	})
}

func FuzzPath(f *testing.F) {
	for path := range routes {
		for _, method := range []string{"GET", "PUT", "HEAD", "BREW"} {
			f.Add(method, path, "")
		}
	}
	f.Add(strings.Repeat("B", 600), "/pview", "")
	for _, path := range []string{
		"*", "//", "/v9/pview", "/v1/pview/", "/%00", "/v1/%2e%2e", "http://other/v1/pview", "other:80",
		"/orders/%2f", "/v1/orders/1%2F2/grab", "/?", "/#", "/v\xff", "/v" + strings.Repeat("9", 600),
	} {
		f.Add("GET", path, `{"value":0}`)
		f.Add("CONNECT", path, "")
	}
	s, send := newTarget(f)
	f.Fuzz(func(t *testing.T, method, path, body string) {
		request := parseRequest(method, path, body)
		if request == nil {
			return
		}
		got := send(t, request)
		if set := s.views.value != -1; set && !(got.status == http.StatusOK && strings.HasSuffix(request.URL.Path, "/pview")) {
			t.Fatalf("%s %q wrote %d and got status %d", method, path, s.views.value, got.status)
		}
		if got.status < 300 && method != "GET" && method != "HEAD" && method != "POST" && method != "PUT" {
			t.Fatalf("%s got status %d", method, got.status)
		}
	})
}
