package handlers_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"locklab/handlers"
	"locklab/lockstrategy/preflight"
)

func up(name string) handlers.HealthCheck {
	return handlers.HealthCheck{Name: name, Ping: func(context.Context) error { return nil }}
}

func down(name string, err error) handlers.HealthCheck {
	return handlers.HealthCheck{Name: name, Ping: func(context.Context) error { return err }}
}

// newOutages returns an Outages that discards its log and is closed with the test.
func newOutages(t *testing.T, checks ...handlers.HealthCheck) *handlers.Outages {
	t.Helper()
	o := handlers.NewOutages(slog.New(slog.DiscardHandler), checks...)
	t.Cleanup(func() { _ = o.Close() })
	return o
}

func TestHealthz(t *testing.T) {
	s := serve(t, func(s *instance, cfg *handlers.Config) { // must be ok although every server is down
		cfg.Outages = newOutages(t, down("redis", errors.New("refused")))
		for i := range cfg.Versions {
			if cfg.Versions[i].Name == "v3" {
				cfg.Versions[i].Owner = "a process"
			}
		}
		s.views.err, s.orders.err = errRedisDown, errDatabaseDown
	})
	s.get("/healthz").wantJSON(t, http.StatusOK, map[string]any{
		"instance": "8080", "status": "ok", "topology": "single", "build": "", "versions": versionNames,
		"owners": map[string]any{"v3": "a process"},
	})
	if got := s.do(http.MethodHead, "/healthz", ""); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: %+v", got)
	}
}

// An instance is ready when its servers answer and grant its locks. A weakness of a lock is listed, and changes nothing.
func TestReadyz(t *testing.T) {
	refused := errors.Join(errors.New("node a: refused"), errors.New("node b: refused"))
	weak := preflight.Weakness{Where: []string{"a:1", "b:2"}, What: "it is so", Why: "it does this", Remedy: "do that", Grave: true}
	weakness := map[string]any{"where": []any{"a:1", "b:2"}, "what": "it is so", "why": "it does this", "remedy": "do that", "grave": true}
	refuses, worse := weak, weak
	refuses.Refuses, worse.Refuses, worse.What = true, true, "the second"
	report := func(weaknesses ...preflight.Weakness) []preflight.Report {
		return []preflight.Report{{
			Lock: "v3", Taken: noon, Weaknesses: weaknesses,
			Unknown: []preflight.Unknown{{Where: []string{"a:1"}, What: "its policy", Why: "refused"}},
		}}
	}
	for name, c := range map[string]struct {
		checks      []handlers.HealthCheck
		reports     []preflight.Report
		unreachable map[string]any
		preflight   any // nil: it is not looked at
	}{
		"no servers": {nil, nil, map[string]any{}, nil},
		"all answer": {[]handlers.HealthCheck{up("redis"), up("mysql")}, nil, map[string]any{}, nil},
		"two are down": {
			[]handlers.HealthCheck{down("redlock", refused), up("redis"), down("mysql", errors.New("gone"))},
			nil,
			map[string]any{"redlock": "node a: refused; node b: refused", "mysql": "gone"},
			nil,
		},
		"a weakness": {
			[]handlers.HealthCheck{up("redis")}, report(weak), map[string]any{}, []any{map[string]any{
				"lock": "v3", "at": "2024-05-06T12:00:00Z", "weaknesses": []any{weakness},
				"unknown": []any{map[string]any{"where": []any{"a:1"}, "what": "its policy", "why": "refused"}},
			}},
		},
		"a refused lock": {
			[]handlers.HealthCheck{up("redis")},
			report(refuses, worse),
			map[string]any{"v3": "it is so: it does this; do that (a:1, b:2)"},
			"as above",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ *instance, cfg *handlers.Config) {
				cfg.Outages = newOutages(t, c.checks...)
				if c.reports != nil {
					cfg.Preflight = func(ctx context.Context) []preflight.Report {
						if _, bounded := ctx.Deadline(); !bounded {
							t.Error("the preflight has no deadline")
						}
						return c.reports
					}
				}
			})
			status, ready := http.StatusOK, len(c.unreachable) == 0
			if !ready {
				status = http.StatusServiceUnavailable
			}
			want := map[string]any{"instance": "8080", "ready": ready, "unreachable": c.unreachable}
			got := s.get("/readyz")
			switch c.preflight {
			case nil:
			case "as above":
				want["preflight"] = got.json(t)["preflight"]
			default:
				want["preflight"] = c.preflight
			}
			got.wantJSON(t, status, want)
			if head := s.do(http.MethodHead, "/readyz", ""); head.status != status {
				t.Errorf("HEAD: %d", head.status)
			}
		})
	}
}

// Servers that hang are pinged at the same time, and readyz responds after the timeout.
func TestReadyzTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cfg := newConfig(t)
		hang := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		redis, mysql := handlers.HealthCheck{Name: "redis", Ping: hang}, handlers.HealthCheck{Name: "mysql", Ping: hang}
		cfg.Outages = newOutages(t, redis, up("sqlite"), mysql)
		recorder, start := httptest.NewRecorder(), time.Now()
		handlers.New(cfg).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("the response took %s, want 2s", took)
		}
		response{recorder.Code, recorder.Header(), recorder.Body.String()}.wantJSON(t, http.StatusServiceUnavailable, map[string]any{
			"instance": "8080", "ready": false,
			"unreachable": map[string]any{"redis": "context deadline exceeded", "mysql": "context deadline exceeded"},
		})
	})
}

// A cache that is not used, because changes may be missing, is named. The instance is ready: the database answers.
func TestReadyzNamesACacheThatIsNotUsed(t *testing.T) {
	s, c := withCaches(t)
	for why, want := range map[error]map[string]any{nil: {}, errors.New("it is unsure"): {"c6": "it is unsure"}} {
		c.bypassed = why
		s.get("/readyz").wantJSON(t, http.StatusOK, map[string]any{
			"instance": "8080", "ready": true, "unreachable": map[string]any{}, "bypassed": want,
		})
	}
}
