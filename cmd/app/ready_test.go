//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// waitForPreflight returns the response of /readyz once every server has answered the preflight check. On a busy machine a server may be
// late, and the instance asks it again later.
func waitForPreflight(t *testing.T, instance *servers.Instance) (status int, body string) {
	t.Helper()
	testenv.Eventually(t, "every server answers the preflight check", func() bool {
		status, _, body = ask(t, http.MethodGet, instance.URL+"/readyz")
		var readiness struct{ Preflight []struct{ Unknown []any } }
		if err := json.Unmarshal([]byte(body), &readiness); err != nil {
			t.Fatalf("%d %s (%v)", status, body, err)
		}
		late := len(readiness.Preflight) == 0 || strings.Contains(body, "timeout") || strings.Contains(body, "deadline exceeded")
		for _, lock := range readiness.Preflight {
			late = late || len(lock.Unknown) > 0
		}
		return !late
	})
	return status, body
}

// An instance with weak locks is ready, and reports why they are weak. It is also ready without one RedLock node.
func TestReadyzReportsWeaknesses(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	s := testenv.Stack(t)
	node, err := s.Redis(testenv.Context(t), "redis", true, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := s.RedLock(testenv.Context(t), 3, true)
	if err != nil {
		t.Fatal(err)
	}
	instance := startInstance(t, node, "--redlock="+nodes[0].Addr+","+nodes[1].Addr+","+nodes[2].Addr)
	testenv.Eventually(t, "the log has the weakness", func() bool { return strings.Contains(instance.Log(), "allkeys-lru") })
	status, body := waitForPreflight(t, instance)
	var readiness struct {
		Ready     bool
		Preflight []struct {
			Lock       string
			At         time.Time
			Weaknesses []struct {
				Where             []string
				What, Why, Remedy string
			}
			Unknown []any
		}
	}
	err = json.Unmarshal([]byte(body), &readiness)
	if err != nil || status != http.StatusOK || !readiness.Ready || len(readiness.Preflight) != 3 {
		t.Fatalf("%d %s (%v)", status, body, err)
	}
	v3, v4, v5 := readiness.Preflight[0], readiness.Preflight[1], readiness.Preflight[2]
	if v3.Lock != "v3" || len(v3.Weaknesses) != 2 || len(v3.Unknown) != 0 || time.Since(v3.At) > time.Minute ||
		!strings.Contains(v3.Weaknesses[0].What, "allkeys-lru") || !slices.Equal(v3.Weaknesses[0].Where, []string{"single " + node.Addr}) {
		t.Errorf("v3: %+v", v3)
	}
	if v4.Lock != "v4" || len(v4.Weaknesses) != 1 || len(v4.Weaknesses[0].Where) != 3 || v4.Weaknesses[0].Remedy == "" {
		t.Errorf("v4: %+v", v4)
	}
	if v5.Lock != "v5" || len(v5.Weaknesses) != 0 {
		t.Errorf("v5: %+v", v5)
	}
	nodes[0].Kill() // a majority remains
	testenv.Eventually(t, "it is ready without a RedLock node", func() bool {
		status, _, _ := ask(t, http.MethodGet, instance.URL+"/readyz")
		return status == http.StatusOK
	})
}

// An instance is not ready if its Redis answers but cannot grant a lock. It reports why, and is ready again after a repair.
func TestReadyzTriesALock(t *testing.T) {
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	for name, c := range map[string]struct {
		settings   []string
		fault, end []any
		want       []string
	}{
		"out of memory": {
			fault: []any{"config", "set", "maxmemory", "1mb"}, end: []any{"config", "set", "maxmemory", "0"},
			want: []string{"OOM command not allowed"},
		},
		"a command that is denied": {
			fault: []any{"acl", "setuser", "default", "-hset"}, end: []any{"acl", "setuser", "default", "+hset"},
			want: []string{"can't run this command", "ACL SETUSER"},
		},
		"EVALSHA renamed away": {settings: []string{"--rename-command", "EVALSHA", ""}, want: []string{"'evalsha'"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node, err := testenv.Stack(t).Redis(testenv.Context(t), "redis", true, c.settings...)
			if err != nil {
				t.Fatal(err)
			}
			admin := redis.NewClient(&redis.Options{Addr: node.Addr})
			t.Cleanup(func() { _ = admin.Close() })
			if c.fault != nil {
				if err := admin.Do(t.Context(), c.fault...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			instance := startInstance(t, node)
			wantUnready(t, instance, append(c.want, "v3")...)
			if c.end == nil {
				return
			}
			if err := admin.Do(t.Context(), c.end...).Err(); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, "it is ready", func() bool {
				status, _, _ := ask(t, http.MethodGet, instance.URL+"/readyz")
				return status == http.StatusOK
			})
		})
	}
	t.Run("a node of a cluster", func(t *testing.T) {
		t.Parallel()
		started := testenv.Topology(t, "cluster")
		wantUnready(t, startInstance(t, started.Nodes[0]), "v3", "--topology cluster") // the error depends on which master owns the key
	})
}

func wantUnready(t *testing.T, instance *servers.Instance, words ...string) {
	t.Helper()
	status, body := waitForPreflight(t, instance)
	var readiness struct{ Unreachable map[string]string }
	if err := json.Unmarshal([]byte(body), &readiness); err != nil || status != http.StatusServiceUnavailable {
		t.Fatalf("%d %s (%v), want 503", status, body, err)
	}
	for _, word := range words {
		if !strings.Contains(fmt.Sprint(readiness.Unreachable), word) {
			t.Errorf("%q is missing in %v", word, readiness.Unreachable)
		}
	}
}
