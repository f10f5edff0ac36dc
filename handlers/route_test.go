package handlers_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"locklab/handlers"
)

// routes are the routes of an instance without a shop, caches and rate limits, with their methods. v0 has no lock, and v2 stands for the
// others.
var routes = map[string]string{
	"/":                           "GET HEAD",
	"/healthz":                    "GET HEAD",
	"/readyz":                     "GET HEAD",
	"/metrics":                    "GET HEAD",
	"/pview":                      "GET HEAD PUT",
	"/orders":                     "POST",
	"/orders/1":                   "GET HEAD",
	"/v0/pview":                   "GET POST",
	"/v2/pview":                   "GET POST",
	"/v0/orders/1/grab?driver=12": "GET POST",
	"/v2/orders/1/grab?driver=12": "GET POST",
}

func TestMethods(t *testing.T) {
	s := serve(t)
	s.do(http.MethodPost, "/orders", "")
	for path, methods := range routes {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
			got := s.do(method, path, `{"value":0}`)
			if slices.Contains(strings.Fields(methods), method) {
				if got.status >= 400 && got.status != http.StatusConflict {
					t.Errorf("%s %s: %d %s", method, path, got.status, got.body)
				}
				continue
			}
			allow := strings.Split(got.header.Get("Allow"), ", ")
			slices.Sort(allow)
			if got.status != http.StatusMethodNotAllowed || strings.Join(allow, " ") != methods {
				t.Errorf("%s %s: %d, Allow %v, want 405 and %s", method, path, got.status, allow, methods)
			}
			if method != http.MethodHead {
				got.wantError(t, http.StatusMethodNotAllowed, method, got.header.Get("Allow"))
			}
		}
	}
}

// HEAD counts no view and grabs no order, unlike GET.
func TestHeadIsReadOnly(t *testing.T) {
	s := serve(t)
	s.views.value = 7
	for path, methods := range routes {
		got := s.do(http.MethodHead, path, "")
		if got.body != "" || strings.Contains(methods, "HEAD") != (got.status != http.StatusMethodNotAllowed) {
			t.Errorf("%s: %d %q", path, got.status, got.body)
		}
	}
	if s.views.value != 7 || len(s.orders.all)+len(s.orders.attempts) != 0 {
		t.Errorf("HEAD wrote %d, %v, %v", s.views.value, s.orders.all, s.orders.attempts)
	}
}

func TestUnknownPaths(t *testing.T) {
	s := serve(t)
	for _, path := range []string{
		"//", "/v1", "/v1/", "/v1/pview/", "/v1/pview/x", "//v1/pview", "/v1//pview", "/./v1/pview", "/v1/../v1/pview", "/V1/pview", "/v1/PVIEW",
		"/v1/orders/1", "/v1/orders/1/grab/", "/orders//", "/orders/1/grab", "/healthz/", "/%00", "/%2e%2e/pview", "/v", "/v1x/pview",
		"/\u0663/pview", "/" + strings.Repeat("x", 4000), "/debug/pprof/",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			got := s.do(method, path, "")
			got.wantError(t, http.StatusNotFound, "nothing here", "GET / lists")
			if location := got.header.Get("Location"); location != "" {
				t.Errorf("%s redirects to %s", path, location)
			}
		}
	}
	if s.views.value != 0 {
		t.Errorf("a wrong path counted %d views", s.views.value)
	}
}

func TestUnknownVersions(t *testing.T) {
	s := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Versions = cfg.Versions[:4] })
	for _, version := range []string{"v4", "v10", "v00", "v" + strings.Repeat("1", 400)} {
		for _, rest := range []string{"", "/pview", "/x/y"} {
			for _, method := range []string{http.MethodGet, http.MethodDelete} {
				got := s.do(method, "/"+version+rest, "")
				got.wantError(t, http.StatusNotFound, "no version", version[:min(len(version), 20)], "v0, v1, v2, v3")
				if list := got.json(t)["versions"]; !reflect.DeepEqual(list, []any{"v0", "v1", "v2", "v3"}) {
					t.Errorf("%s: the list is %v", version, list)
				}
				if hint := strings.Contains(got.body, "--redlock"); hint != (version == "v4") {
					t.Errorf("%s: only v4 has a hint how to serve it, not %s", version, got.body)
				}
				if len(got.body) > 200 {
					t.Errorf("the error repeats a long version: %s", got.body)
				}
			}
		}
	}
	none := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Versions = nil })
	got := none.get("/v1/pview")
	got.wantError(t, http.StatusNotFound, "no version")
	if list := got.json(t)["versions"]; !reflect.DeepEqual(list, []any{}) || strings.Contains(got.body, "--") {
		t.Errorf("the response of an instance without versions is %s", got.body)
	}
}
