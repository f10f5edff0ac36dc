package handlers_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
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

func TestReadyzListsUnreachableServers(t *testing.T) {
	refused := errors.Join(errors.New("node a: refused"), errors.New("node b: refused"))
	for name, test := range map[string]struct {
		checks      []handlers.HealthCheck
		unreachable map[string]any
	}{
		"no servers":  {nil, map[string]any{}},
		"all answer":  {[]handlers.HealthCheck{up("redis"), up("mysql")}, map[string]any{}},
		"one is down": {[]handlers.HealthCheck{up("redis"), down("mysql", errors.New("refused"))}, map[string]any{"mysql": "refused"}},
		"two are down": {
			[]handlers.HealthCheck{down("redlock", refused), up("redis"), down("mysql", errors.New("gone"))},
			map[string]any{"redlock": "node a: refused; node b: refused", "mysql": "gone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Outages = newOutages(t, test.checks...) })
			status, ready := http.StatusOK, len(test.unreachable) == 0
			if !ready {
				status = http.StatusServiceUnavailable
			}
			s.get("/readyz").wantJSON(t, status, map[string]any{"instance": "8080", "ready": ready, "unreachable": test.unreachable})
			if got := s.do(http.MethodHead, "/readyz", ""); got.status != status {
				t.Errorf("HEAD: %d", got.status)
			}
		})
	}
}

// A weakness of a lock is listed, but the instance stays ready.
func TestReadyzListsWeaknesses(t *testing.T) {
	for _, check := range []handlers.HealthCheck{up("redis"), down("redis", errors.New("refused"))} {
		s := serve(t, func(_ *instance, cfg *handlers.Config) {
			cfg.Outages = newOutages(t, check)
			cfg.Preflight = func(ctx context.Context) []preflight.Report {
				if _, bounded := ctx.Deadline(); !bounded {
					t.Error("the preflight has no deadline")
				}
				return []preflight.Report{
					{
						Lock: "v3", Taken: noon,
						Weaknesses: []preflight.Weakness{
							{Where: []string{"a:1", "b:2"}, What: "it is so", Why: "it does this", Remedy: "do that", Grave: true},
						},
						Unknown: []preflight.Unknown{{Where: []string{"a:1"}, What: "its policy", Why: "refused"}},
					},
					{Lock: "v4", Taken: noon, Weaknesses: []preflight.Weakness{}, Unknown: []preflight.Unknown{}},
				}
			}
		})
		status, unreachable := http.StatusOK, map[string]any{}
		if check.Ping(t.Context()) != nil {
			status, unreachable = http.StatusServiceUnavailable, map[string]any{"redis": "refused"}
		}
		s.get("/readyz").wantJSON(t, status, map[string]any{
			"instance": "8080", "ready": status == http.StatusOK, "unreachable": unreachable,
			"preflight": []any{
				map[string]any{
					"lock": "v3", "at": "2024-05-06T12:00:00Z",
					"weaknesses": []any{
						map[string]any{"where": []any{"a:1", "b:2"}, "what": "it is so", "why": "it does this", "remedy": "do that", "grave": true},
					},
					"unknown": []any{map[string]any{"where": []any{"a:1"}, "what": "its policy", "why": "refused"}},
				},
				map[string]any{"lock": "v4", "at": "2024-05-06T12:00:00Z", "weaknesses": []any{}, "unknown": []any{}},
			},
		})
	}
}

// An instance whose servers answer but refuse a lock is not ready, and says why.
func TestReadyzListsRefusedLocks(t *testing.T) {
	s := serve(t, func(_ *instance, cfg *handlers.Config) {
		cfg.Outages = newOutages(t, up("redis"))
		cfg.Preflight = func(context.Context) []preflight.Report {
			return []preflight.Report{{
				Lock: "v3", Taken: noon, Unknown: []preflight.Unknown{},
				Weaknesses: []preflight.Weakness{
					{Where: []string{"a:1"}, What: "it is so", Why: "it does this", Remedy: "do that", Grave: true, Refuses: true},
					{Where: []string{"a:1"}, What: "another", Why: "it does that", Remedy: "do this", Grave: true, Refuses: true},
				},
			}}
		}
	})
	got := s.get("/readyz")
	if want := `"unreachable":{"v3":"it is so: it does this; do that (a:1)"}`; got.status != http.StatusServiceUnavailable ||
		!strings.Contains(got.body, want) || !strings.Contains(got.body, `"ready":false`) {
		t.Errorf("%d %s; want 503 with %s", got.status, got.body, want)
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
