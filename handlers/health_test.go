package handlers_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/handlers"
	"locklab/lockstrategy/preflight"
)

func up(name string) handlers.Check {
	return handlers.Check{Name: name, Ping: func(context.Context) error { return nil }}
}

func down(name string, err error) handlers.Check {
	return handlers.Check{Name: name, Ping: func(context.Context) error { return err }}
}

// watching asks servers, and ends with the test.
func watching(t *testing.T, servers ...handlers.Check) *handlers.Outages {
	t.Helper()
	o := handlers.NewOutages(slog.New(slog.DiscardHandler), servers...)
	t.Cleanup(func() { _ = o.Close() })
	return o
}

func TestHealthSaysThatTheProcessAnswers(t *testing.T) {
	s := serve(t, func(s *instance, cfg *handlers.Config) { // whatever is behind it
		cfg.Outages = watching(t, down("redis", errors.New("refused")))
		for i := range cfg.Versions {
			if cfg.Versions[i].Name == "v3" {
				cfg.Versions[i].Owner = "a process"
			}
		}
		s.views.err, s.orders.err = redisAway, mysqlAway
	})
	s.get("/healthz").is(t, http.StatusOK, map[string]any{
		"instance": "8080", "status": "ok", "topology": "single", "build": "", "versions": versionNames,
		"owners": map[string]any{"v3": "a process"},
	})
	if got := s.ask(http.MethodHead, "/healthz", ""); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: %+v", got)
	}
}

func TestReadinessNamesWhatIsUnreachable(t *testing.T) {
	refused := errors.Join(errors.New("node a: refused"), errors.New("node b: refused"))
	for name, test := range map[string]struct {
		checks      []handlers.Check
		unreachable map[string]any
	}{
		"nothing to ask": {nil, map[string]any{}},
		"all answer":     {[]handlers.Check{up("redis"), up("mysql")}, map[string]any{}},
		"one is away":    {[]handlers.Check{up("redis"), down("mysql", errors.New("refused"))}, map[string]any{"mysql": "refused"}},
		"two are away": {
			[]handlers.Check{down("redlock", refused), up("redis"), down("mysql", errors.New("gone"))},
			map[string]any{"redlock": "node a: refused; node b: refused", "mysql": "gone"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Outages = watching(t, test.checks...) })
			status, ready := http.StatusOK, len(test.unreachable) == 0
			if !ready {
				status = http.StatusServiceUnavailable
			}
			s.get("/readyz").is(t, status, map[string]any{"instance": "8080", "ready": ready, "unreachable": test.unreachable})
			if got := s.ask(http.MethodHead, "/readyz", ""); got.status != status {
				t.Errorf("HEAD: %d", got.status)
			}
		})
	}
}

// A weakness of a lock is told, and makes nothing unready.
func TestReadinessTellsWhatWeakensALock(t *testing.T) {
	for _, check := range []handlers.Check{up("redis"), down("redis", errors.New("refused"))} {
		s := serve(t, func(_ *instance, cfg *handlers.Config) {
			cfg.Outages = watching(t, check)
			cfg.Preflight = func(ctx context.Context) []preflight.Report {
				if _, bounded := ctx.Deadline(); !bounded {
					t.Error("it may ask for ever")
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
		s.get("/readyz").is(t, status, map[string]any{
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

// An instance whose servers answer and grant no lock is not ready, and says why.
func TestReadinessNamesTheLockThatIsNotGranted(t *testing.T) {
	s := serve(t, func(_ *instance, cfg *handlers.Config) {
		cfg.Outages = watching(t, up("redis"))
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

// Servers that hang are asked at the same time, and no longer than the bound.
func TestReadinessDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cfg := parts(t)
		hang := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		cfg.Outages = watching(t, handlers.Check{Name: "redis", Ping: hang}, up("sqlite"), handlers.Check{Name: "mysql", Ping: hang})
		recorder, began := httptest.NewRecorder(), time.Now()
		handlers.New(cfg).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("it took %s", took)
		}
		answer{recorder.Code, recorder.Header(), recorder.Body.String()}.is(t, http.StatusServiceUnavailable, map[string]any{
			"instance": "8080", "ready": false,
			"unreachable": map[string]any{"redis": "context deadline exceeded", "mysql": "context deadline exceeded"},
		})
	})
}

func TestReadinessEndsWithItsClient(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan struct{})
	s := serve(t, func(_ *instance, cfg *handlers.Config) {
		cfg.Outages = watching(t, handlers.Check{Name: "redis", Ping: func(ctx context.Context) error {
			close(asked)
			<-ctx.Done()
			if errors.Is(ctx.Err(), context.Canceled) {
				close(ended)
			}
			return ctx.Err()
		}})
	})
	client, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write([]byte("GET /readyz HTTP/1.1\r\nHost: lab\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	<-asked
	_ = client.Close()
	<-ended
}
