//go:build unix

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/internal/testenv"
	"locklab/stack"
)

// The servers go away while the instance runs: each answer comes within a bound and names the server. The drivers of the servers write
// nothing beside the log.
func TestRedisGoesAway(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node := testenv.Redis(t, false)
	instance := serving(t, node, "--lease=3s")
	ask(t, http.MethodPost, instance.URL+"/orders")
	for _, fault := range []struct {
		name   string
		do     func()
		remove func()
	}{
		{"paused", func() { testenv.Pause(t, node) }, node.Resume},
		{"dead", node.Kill, func() {}},
	} {
		fault.do()
		for _, request := range []string{
			"POST /v0/pview", "POST /v1/pview", "POST /v2/pview", "POST /v3/pview", "GET /pview",
			"POST /v3/orders/1/grab?driver=1", "GET /readyz",
		} {
			method, path, _ := strings.Cut(request, " ")
			began := time.Now()
			status, _, body := ask(t, method, instance.URL+path)
			if status != http.StatusServiceUnavailable || !strings.Contains(body, node.Addr) {
				t.Errorf("%s, %s: %d %s; want 503 naming %s", fault.name, request, status, body, node.Addr)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("%s, %s: it took %s", fault.name, request, took)
			}
		}
		fault.remove()
	}
	if status, _, _ := ask(t, http.MethodGet, instance.URL+"/healthz"); status != http.StatusOK {
		t.Errorf("the process is well, and says %d", status)
	}
	for line := range strings.Lines(instance.Log()) {
		if strings.HasSuffix(line, "\n") && !json.Valid([]byte(line)) { // the last one may be half written
			t.Errorf("a line of a driver is no line of its log: %s", line)
		}
	}
}

// While Redis is away requests fail, and so does the work in the background. The log has a line when Redis is lost, and one when it is
// back.
func TestAnOutageHasALineAtItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node := testenv.Redis(t, testenv.RedisServer.Met())
	instance := serving(t, node)
	if status, _, body := ask(t, http.MethodGet, instance.URL+"/c6/items/1"); status != http.StatusNotFound { // it begins to consume changes
		t.Fatalf("%d %s", status, body)
	}
	lines := func(text string) int { return strings.Count(instance.Log(), text) }
	testenv.Pause(t, node)
	for range 5 {
		if status, _, body := ask(t, http.MethodPost, instance.URL+"/v0/pview"); status != http.StatusServiceUnavailable {
			t.Errorf("%d %s", status, body)
		}
	}
	testenv.Eventually(t, "the log says that Redis is lost", func() bool { return lines(`"msg":"server lost"`) > 0 })
	node.Resume()
	testenv.Eventually(t, "the log says that Redis is back", func() bool { return lines(`"msg":"server back"`) > 0 })
	if lines(`"msg":"server lost"`) != 1 || lines(`"msg":"server back"`) != 1 || lines(`"level":"WARN"`) > 2+lines("preflight") {
		t.Error(instance.Log())
	}
	_, back, _ := strings.Cut(instance.Log(), `"msg":"server back"`)
	var told struct{ Failures int }
	_, fields, _ := strings.Cut(back, ",")
	line, _, _ := strings.Cut(fields, "\n")
	if err := json.Unmarshal([]byte("{"+line), &told); err != nil || told.Failures < 5 {
		t.Errorf("it says %s", back)
	}
}

// breakable is a server process as the tests of this file break it.
type breakable interface {
	Pause() error
	Resume()
	Kill()
}

// goneServer keeps the locks of one version, goes away, and comes back.
type goneServer struct {
	breakable
	addr    string
	flags   []string                                        // of the instance
	restart func(context.Context) (proof string, err error) // returns when a plain client is answered
}

func redisServer(t *testing.T) goneServer {
	node := testenv.Redis(t, false)
	return goneServer{node, node.Addr, nil, node.Restart}
}

func databaseServer(t *testing.T) goneServer {
	testenv.Needs(t, testenv.MariaDB)
	// The stack's own setting writes the log once a second. After a crash it may have the lock and not its release, and v5 waits for the
	// lease's end.
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t), "--innodb-flush-log-at-trx-commit=1")
	if err != nil {
		t.Fatal(err)
	}
	return goneServer{server, server.Addr, []string{"--database=mysql:" + server.DSN}, server.Restart}
}

func zooKeeperServer(t *testing.T) goneServer {
	server := testenv.Ensemble(t, 1)[0]
	return goneServer{server, server.Addr, []string{"--zookeeper=" + server.Addr}, server.Restart}
}

func etcdServer(t *testing.T) goneServer {
	testenv.Needs(t, testenv.Etcd)
	servers, err := testenv.Stack(t).Etcd(testenv.Context(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	server := servers.Members[0]
	return goneServer{server, server.Addr, []string{"--etcd=" + server.Addr}, server.Restart}
}

func memcachedServer(t *testing.T) goneServer {
	testenv.Needs(t, testenv.Memcached)
	server, err := testenv.Stack(t).Memcached(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return goneServer{server, server.Addr, []string{"--memcached=" + server.Addr}, server.Restart}
}

// The server of a version goes away and comes back while the instance runs. The other versions do not notice. The version is back within a
// second of its server, and within a lease in any case. On a busy machine one fast return of three is enough: a client that always waits
// longer fails all three. Each request takes longer there, so the bounds grow with what one without a lock takes.
func TestTheServerOfALockGoesAway(t *testing.T) {
	t.Parallel()
	// A server that is killed may keep an acquire whose release did not reach it.
	const lease = 6 * time.Second
	for version, start := range map[string]func(*testing.T) goneServer{
		"v3": redisServer, "v5": databaseServer, "v6": zooKeeperServer, "v7": etcdServer, "v8": memcachedServer,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			testenv.Slow(t)
			server := start(t)
			redis, itself := server.breakable.(*stack.Node)
			if !itself {
				redis = testenv.Redis(t, false)
			}
			instance := serving(t, redis, append(server.flags, "--lease="+lease.String())...)
			var resumed, restarted, usual []time.Duration
			stalls := testenv.WatchStalls(t)
			awaitWorks(t, instance, version)
			for range 3 { // from the second round on it finds connections that have ended
				testenv.Pause(t, server)
				wantGone(t, instance, version, server.addr)
				server.Resume()
				resumed = append(resumed, awaitWorks(t, instance, version))
				usual = append(usual, takes(t, instance))
				server.Kill()
				wantGone(t, instance, version, server.addr)
				if _, err := server.restart(testenv.Context(t)); err != nil {
					t.Fatal(err)
				}
				restarted = append(restarted, awaitWorks(t, instance, version))
				usual = append(usual, takes(t, instance))
			}
			t.Logf("%s is back after %v when its server was paused, and after %v when it was restarted; without a lock %v",
				version, resumed, restarted, usual)
			slices.Sort(usual)
			soon := time.Second + 20*usual[len(usual)/2]
			if slices.Min(resumed) > soon || slices.Min(restarted) > soon {
				t.Errorf("it was never back within %s", soon)
			}
			if slices.Max(slices.Concat(resumed, restarted)) > lease+soon+stalls.Longest() {
				t.Errorf("one return took more than a lease of %s", lease)
			}
		})
	}
}

// wantGone demands answers that name the server that is gone, and that other versions work.
func wantGone(t *testing.T, instance *stack.Instance, version, addr string) {
	t.Helper()
	for _, request := range []string{"POST /" + version + "/pview", "GET /readyz", "POST /" + version + "/pview"} {
		method, path, _ := strings.Cut(request, " ")
		status, _, body := ask(t, method, instance.URL+path)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, addr) {
			t.Errorf("%s: %d %s; want 503 naming %s", request, status, body, addr)
		}
	}
	if version == "v3" { // the page views are in the same server
		return
	}
	if status, _, body := ask(t, http.MethodPost, instance.URL+"/v3/pview"); status != http.StatusOK {
		t.Errorf("v3 does not notice, but: %d %s", status, body)
	}
}

// takes is how long a page view without a lock takes now.
func takes(t *testing.T, instance *stack.Instance) time.Duration {
	t.Helper()
	began := time.Now()
	if status, _, body := ask(t, http.MethodPost, instance.URL+"/v0/pview"); status != http.StatusOK {
		t.Errorf("v0: %d %s", status, body)
	}
	return time.Since(began)
}

// awaitWorks waits until page views of a version work, and the instance says that it is ready. It returns how long that took.
func awaitWorks(t *testing.T, instance *stack.Instance, version string) time.Duration {
	t.Helper()
	began := time.Now()
	for _, request := range []string{"POST /" + version + "/pview", "GET /readyz"} {
		method, path, _ := strings.Cut(request, " ")
		testenv.Eventually(t, request, func() bool {
			status, _, _ := ask(t, method, instance.URL+path)
			return status == http.StatusOK
		})
	}
	return time.Since(began)
}
