package handlers_test

import (
	"fmt"
	"net/http"
	"testing"

	"locklab/handlers"
)

func TestIncrement(t *testing.T) {
	s := serve(t)
	value := 0.0
	for _, version := range []string{"v0", "v1", "v2", "v3", "v4"} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			value++
			want := map[string]any{"instance": "8080", "version": version, "value": value, "waited_ms": waitedMS, "held_ms": heldMS, "fence": 0.0}
			switch version {
			case "v0": // it has no lock
				want["waited_ms"], want["held_ms"] = 0.0, 0.0
			case "v3":
				want["fence"] = 42.0 * 256
			}
			s.do(method, "/"+version+"/pview", "").wantJSON(t, http.StatusOK, want)
		}
	}
	s.get("/pview").wantJSON(t, http.StatusOK, map[string]any{"instance": "8080", "value": value})
}

// A client that prefers plain text gets the article's. Any other gets JSON.
func TestArticleText(t *testing.T) {
	s := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Instance = "100%d" })
	for accept, text := range map[string]bool{
		"*/*":                               false, // curl
		"image/png":                         false, // better than a 406
		"text/html, application/xml, */*":   false, // a browser
		"application/json, text/plain, */*": false, // axios
		"text/plain":                        true,
		"text/plain; charset=utf-8, */*":    true,
	} {
		for _, version := range []string{"v0", "v1"} {
			got := s.do(http.MethodPost, "/"+version+"/pview", "", "Accept: "+accept)
			isText := got.body == "100%d increase pview end!" && got.header.Get("Content-Type") == "text/plain; charset=utf-8"
			if got.status != http.StatusOK || isText != text {
				t.Errorf("Accept %q: %d %q", accept, got.status, got.body)
			}
		}
	}
	if got := s.do(http.MethodGet, "/pview", "", "Accept: text/plain"); got.body != "12" {
		t.Errorf("the counter as text is %q, want 12", got.body)
	}
}

func TestGetView(t *testing.T) {
	s := serve(t)
	s.views.value, s.views.stale = 7, 5
	for query, want := range map[string]float64{"": 7, "?from=master": 7, "?from=": 7, "?from=replica": 5} {
		s.get("/pview"+query).wantJSON(t, http.StatusOK, map[string]any{"instance": "8080", "value": want})
	}
	s.get("/pview?from=nowhere").wantError(t, http.StatusBadRequest, `"nowhere"`, "master replica")
	s.get("/pview?from=replica&from=replica").wantError(t, http.StatusBadRequest, "from is given 2 times")
}

func TestSetView(t *testing.T) {
	s := serve(t)
	for _, value := range []int64{0, 12, 1<<53 - 1} {
		s.views.value = -1
		s.do(http.MethodPut, "/pview", fmt.Sprintf(" {\"value\": %d}\n", value)).
			wantJSON(t, http.StatusOK, map[string]any{"instance": "8080", "value": float64(value)})
		if s.views.value != value {
			t.Errorf("wrote %d, want %d", s.views.value, value)
		}
	}
	s.views.value = 3
	for _, body := range []string{
		"", "0", "null", "{}", "zero", "{", `{"value":null}`, `{"value":"0"}`, `{"value":-1}`, `{"value":0.5}`, `{"value":0,"extra":1}`,
		`{"value":0}}`, `{"value":0}{"value":1}`, `{"value":9007199254740992}`, `{"value":1e400}`, "\xff\x00",
	} {
		s.do(http.MethodPut, "/pview", body).wantError(t, http.StatusBadRequest, `send {"value": 0}`)
	}
	if s.views.value != 3 {
		t.Errorf("a rejected body wrote %d", s.views.value)
	}
}
