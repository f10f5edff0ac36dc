package handlers_test

import (
	"net/http"
	"testing"

	"locklab/handlers"
)

func TestSetViewRequiresAdminToken(t *testing.T) {
	const token = "open sesame: 7"
	s := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.AdminToken = token })
	s.views.value = 7
	for _, credentials := range []string{
		"", "Bearer", "Bearer ", "Bearer open", "Bearer " + token[:len(token)-1], "Bearer " + token + "x", "Bearer  " + token,
		"Bearer OPEN SESAME: 7",
		token, "Basic " + token, "Bearer" + token, "Bearer Bearer " + token, "Token " + token, ", Bearer " + token,
	} {
		var headers []string
		if credentials != "" {
			headers = []string{"Authorization: " + credentials}
		}
		for _, body := range []string{`{"value":0}`, "", "not JSON"} { // the error must not depend on the body
			got := s.do(http.MethodPut, "/pview", body, headers...)
			got.wantError(t, http.StatusUnauthorized, "Bearer TOKEN")
			if got.header.Get("WWW-Authenticate") != `Bearer realm="locklab"` {
				t.Errorf("%q: WWW-Authenticate is %q", credentials, got.header.Get("WWW-Authenticate"))
			}
		}
	}
	if s.views.value != 7 {
		t.Fatalf("the counter was set to %d", s.views.value)
	}
	for n, scheme := range []string{"Bearer ", "bearer ", "BEARER "} { // schemes are case-insensitive
		got := s.do(http.MethodPut, "/pview", []string{`{"value":0}`, `{"value":1}`, `{"value":2}`}[n], "Authorization: "+scheme+token)
		if got.status != http.StatusOK || s.views.value != int64(n) || got.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%s: %d %s, the counter is %d", scheme, got.status, got.body, s.views.value)
		}
	}
	s.do(http.MethodPut, "/pview", "not JSON", "Authorization: Bearer "+token).wantError(t, http.StatusBadRequest)
}

func TestNoAdminTokenConfigured(t *testing.T) {
	s := serve(t)
	for _, headers := range [][]string{nil, {"Authorization: Bearer any"}} {
		if got := s.do(http.MethodPut, "/pview", `{"value":3}`, headers...); got.status != http.StatusOK || s.views.value != 3 {
			t.Errorf("%v: %d %s", headers, got.status, got.body)
		}
	}
}
