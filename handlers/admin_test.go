package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"locklab/handlers"
)

// A request that resets data needs the admin token. Without one the error does not depend on the body, and nothing is changed.
func TestResetsRequireAdminToken(t *testing.T) {
	log := &fakeSupplier{}
	s := serve(t, withShop, withRateLimits(log), func(_ *instance, cfg *handlers.Config) { cfg.AdminToken = token })
	s.views.value = 7
	s.do(http.MethodPost, "/r3/supplier/call", "")
	for _, line := range []string{
		`PUT /pview {"value":0}`, "PUT /pview not JSON", `PUT /shop/items/1 {"stock":1}`, "DELETE /supplier/r3/rates",
	} {
		for _, credentials := range []string{
			"", "Bearer ", "Bearer " + token[:len(token)-1], "Bearer " + token + "x", "Bearer " + strings.ToUpper(token), token, "Basic " + token,
		} {
			got := s.line(line, "Authorization: "+credentials)
			got.wantError(t, http.StatusUnauthorized, "Bearer TOKEN")
			got.wantHeaders(t, map[string]string{"WWW-Authenticate": `Bearer realm="locklab"`})
		}
		if s.views.value != 7 || len(log.calls) != 1 || s.get("/shop/items/1").status != http.StatusNotFound {
			t.Errorf("%s has changed data without the token", line)
		}
	}
	for _, line := range []string{`PUT /pview {"value":0}`, `PUT /shop/items/1 {"stock":1}`, "DELETE /supplier/r3/rates"} {
		for _, scheme := range []string{"Bearer ", "bearer "} { // schemes are case-insensitive
			if got := s.line(line, "Authorization: "+scheme+token); got.status >= 300 || got.header.Get("WWW-Authenticate") != "" {
				t.Errorf("%s with the token: %d %s", line, got.status, got.body)
			}
		}
	}
	if s.views.value != 0 || len(log.calls) != 0 {
		t.Errorf("with the token nothing was reset: %d views, calls %v", s.views.value, log.calls)
	}
}
