package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"locklab/order"
)

func TestCreateAndGetOrder(t *testing.T) {
	s := serve(t)
	open := map[string]any{"instance": "8080", "id": 1.0, "status": "open", "driver": 0.0, "winners": []any{}}
	created := s.do(http.MethodPost, "/orders", "")
	created.wantJSON(t, http.StatusCreated, open)
	location := created.header.Get("Location")
	if location != "/orders/1" {
		t.Fatalf("Location is %q", location)
	}
	s.get(location).wantJSON(t, http.StatusOK, open)
	s.get("/orders/2").wantError(t, http.StatusNotFound, "order 2", "not found")

	s.do(http.MethodPost, "/v3/orders/1/grab?driver=12", "")
	s.orders.all[0].Wins = append(s.orders.all[0].Wins, order.Win{Driver: 13, Version: "v1", Instance: "8090", At: noon})
	win := map[string]any{"driver": 12.0, "version": "v3", "instance": "8080", "fence": 42.0 * 256, "at": "2024-05-06T12:00:00Z"}
	other := map[string]any{"driver": 13.0, "version": "v1", "instance": "8090", "fence": 0.0, "at": "2024-05-06T12:00:00Z"}
	taken := withField(withField(withField(open, "status", "granted"), "driver", 12.0), "winners", []any{win, other})
	s.get(location).wantJSON(t, http.StatusOK, taken)
}

func TestGrab(t *testing.T) {
	s := serve(t)
	id := 0.0
	for _, version := range []string{"v0", "v1", "v2", "v3", "v4"} {
		for method, other := range map[string]string{http.MethodPost: http.MethodGet, http.MethodGet: http.MethodPost} {
			path := s.do(http.MethodPost, "/orders", "").header.Get("Location") + "/grab?driver="
			id++
			won := map[string]any{
				"instance": "8080", "version": version, "order": id, "driver": 12.0, "won": true, "winner": 12.0,
				"why": "the order was open", "waited_ms": waitedMS, "held_ms": heldMS, "fence": 0.0,
			}
			switch version {
			case "v0":
				won["waited_ms"], won["held_ms"] = 0.0, 0.0
			case "v3":
				won["fence"] = 42.0 * 256
			}
			s.do(method, "/"+version+path+"12", "").wantJSON(t, http.StatusOK, won)
			lost := withField(withField(withField(won, "driver", 13.0), "won", false), "why", "driver 12 already has the order")
			s.do(other, "/"+version+path+"13", "").wantJSON(t, http.StatusConflict, lost)
			// A winner that repeats the request is told so, and does not win again.
			again := withField(withField(won, "again", true), "why", "this driver already has the order")
			s.do(method, "/"+version+path+"12", "").wantJSON(t, http.StatusOK, again)
			if winners := s.get(fmt.Sprintf("/orders/%d", int(id))).json(t)["winners"].([]any); len(winners) != 1 {
				t.Errorf("%s: the winners are %v", version, winners)
			}
			s.do(method, "/"+version+"/orders/99/grab?driver=12", "").wantError(t, http.StatusNotFound, "order 99", "not found")
		}
	}
	for _, a := range s.orders.attempts {
		if a.Instance != "8080" || !strings.HasPrefix(a.Version, "v") {
			t.Errorf("the store got %+v", a)
		}
	}
}

// FuzzGrab has more ids that are none.
func TestInvalidIDs(t *testing.T) {
	s := serve(t)
	s.do(http.MethodPost, "/orders", "")
	for _, id := range []string{"0", "-1", "x", "%201", "2147483648", strings.Repeat("9", 500)} {
		s.get("/orders/"+id).wantError(t, http.StatusBadRequest, "id is", "from 1 to 2147483647")
		s.get("/v0/orders/"+id+"/grab?driver=12").wantError(t, http.StatusBadRequest, "id is")
		s.get("/v2/orders/1/grab?driver="+id).wantError(t, http.StatusBadRequest, "driver", "from 1 to 2147483647")
	}
	s.get("/v1/orders//grab?driver=12").wantError(t, http.StatusBadRequest, `id is ""`)
	for query, says := range map[string]string{
		"": "driver is missing", "?driver=": "driver is", "?Driver=1": "driver is", "?driver=%zz": "driver is",
		"?driver=12&driver=13": "driver is given 2 times",
	} {
		s.get("/v1/orders/1/grab"+query).wantError(t, http.StatusBadRequest, says)
	}
	if len(s.orders.attempts) != 0 {
		t.Fatalf("the store got %+v", s.orders.attempts)
	}
	if got := s.get("/v1/orders/0001/grab?other=1&driver=2147483647"); got.status != http.StatusOK {
		t.Errorf("the largest driver, and leading zeros: %d %s", got.status, got.body)
	}
}
