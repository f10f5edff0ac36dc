//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/versions"
)

// Redis hangs or dies while the instance runs. Each response comes in time and names the server. The client libraries print nothing outside
// of the log.
func TestRedisGoesAway(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node := testenv.Redis(t, false)
	instance := startInstance(t, node, "--lease=3s")
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
				t.Errorf("%s, %s: took %s", fault.name, request, took)
			}
		}
		fault.remove()
	}
	if status, _, _ := ask(t, http.MethodGet, instance.URL+"/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d, want 200 because the process is alive", status)
	}
	for line := range strings.Lines(instance.Log()) {
		if strings.HasSuffix(line, "\n") && !json.Valid([]byte(line)) { // the last line may be incomplete
			t.Errorf("not a JSON log line: %s", line)
		}
	}
}

// During an outage of Redis, requests and background work fail. The log has one line when Redis is lost and one when it is back.
func TestLogOfAnOutage(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node := testenv.Redis(t, testenv.RedisServer.Met())
	instance := startInstance(t, node)
	// The request starts the background work: c6 consumes changes.
	if status, _, body := ask(t, http.MethodGet, instance.URL+"/c6/items/1"); status != http.StatusNotFound {
		t.Fatalf("%d %s", status, body)
	}
	count := func(text string) int { return strings.Count(instance.Log(), text) }
	testenv.Pause(t, node)
	for range 5 {
		if status, _, body := ask(t, http.MethodPost, instance.URL+"/v0/pview"); status != http.StatusServiceUnavailable {
			t.Errorf("%d %s", status, body)
		}
	}
	testenv.Eventually(t, "the log says that Redis is lost", func() bool { return count(`"msg":"server lost"`) > 0 })
	node.Resume()
	testenv.Eventually(t, "the log says that Redis is back", func() bool { return count(`"msg":"server back"`) > 0 })
	if count(`"msg":"server lost"`) != 1 || count(`"msg":"server back"`) != 1 || count(`"level":"WARN"`) > 2+count("preflight") {
		t.Error(instance.Log())
	}
	_, back, _ := strings.Cut(instance.Log(), `"msg":"server back"`)
	var entry struct{ Failures int }
	_, fields, _ := strings.Cut(back, ",")
	line, _, _ := strings.Cut(fields, "\n")
	if err := json.Unmarshal([]byte("{"+line), &entry); err != nil || entry.Failures < 5 {
		t.Errorf("%d failures, want at least 5 (%v): %s", entry.Failures, err, back)
	}
}

// startKind starts the servers of a version's locks.
func startKind(t *testing.T, kind string) servers.Servers {
	t.Helper()
	if kind == versions.NameDatabase {
		testenv.Needs(t, testenv.MariaDB)
		// By default the stack flushes the log once a second. After a crash the server might have the lock but not its release, and v5 would
		// wait until the lease ends.
		server, err := testenv.Stack(t).MariaDB(testenv.Context(t), "--innodb-flush-log-at-trx-commit=1")
		if err != nil {
			t.Fatal(err)
		}
		return servers.Servers{Addrs: []string{"mysql:" + server.DSN}, Each: []*servers.Restartable{&server.Restartable}}
	}
	k, _ := servers.KindNamed(kind)
	if !k.Embedded {
		testenv.Needs(t, testenv.Server(kind))
	}
	started, err := testenv.Stack(t).Start(testenv.Context(t), kind, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	return started
}

// The server of a version goes away and comes back while the instance runs. The other versions keep working. The version recovers within a
// second of its server, and always within a lease. One fast recovery of three is enough, because the machine may be busy: a client that
// always waits longer fails all three. For the same reason the bounds grow with the duration of a request without a lock.
func TestTheServerOfALockGoesAway(t *testing.T) {
	t.Parallel()
	// A killed server may have an acquire but not its release, and then keeps the lock for a lease.
	const lease = 6 * time.Second
	for _, v := range versions.All() {
		if v.Server() == "" || v.Server() == versions.NameRedLock { // it goes on without some of its servers
			continue
		}
		version := v.Name
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			testenv.Slow(t)
			started := startKind(t, v.Server())
			server, flags := started.Each[0], []string{"--lease=" + lease.String()}
			var redis *servers.Node
			if v.Server() == versions.NameRedis {
				redis = started.Nodes[0]
			} else {
				redis = testenv.Redis(t, false)
				flags = append(flags, v.Flag()+"="+started.Addrs[0])
			}
			instance := startInstance(t, redis, flags...)
			var resumed, restarted, usual []time.Duration
			stalls := testenv.WatchStalls(t)
			waitUntilWorking(t, instance, version)
			for range 3 { // from the second round on, the instance finds broken connections
				testenv.Pause(t, server)
				wantGone(t, instance, version, server.Addr)
				server.Resume()
				resumed = append(resumed, waitUntilWorking(t, instance, version))
				usual = append(usual, measureView(t, instance))
				server.Kill()
				wantGone(t, instance, version, server.Addr)
				if _, err := server.Restart(testenv.Context(t)); err != nil {
					t.Fatal(err)
				}
				restarted = append(restarted, waitUntilWorking(t, instance, version))
				usual = append(usual, measureView(t, instance))
			}
			t.Logf("%s recovered %v after its server was resumed and %v after it was restarted; views without a lock took %v",
				version, resumed, restarted, usual)
			slices.Sort(usual)
			soon := time.Second + 20*usual[len(usual)/2]
			if slices.Min(resumed) > soon || slices.Min(restarted) > soon {
				t.Errorf("no recovery within %s", soon)
			}
			if slices.Max(slices.Concat(resumed, restarted)) > lease+soon+stalls.Longest() {
				t.Errorf("a recovery took longer than the lease of %s", lease)
			}
		})
	}
}

// wantGone checks that responses of version name the server that is gone, and that other versions work.
func wantGone(t *testing.T, instance *servers.Instance, version, addr string) {
	t.Helper()
	for _, request := range []string{"POST /" + version + "/pview", "GET /readyz", "POST /" + version + "/pview"} {
		method, path, _ := strings.Cut(request, " ")
		status, _, body := ask(t, method, instance.URL+path)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, addr) {
			t.Errorf("%s: %d %s; want 503 naming %s", request, status, body, addr)
		}
	}
	if version == "v3" { // the counter of all versions is in the same server
		return
	}
	if status, _, body := ask(t, http.MethodPost, instance.URL+"/v3/pview"); status != http.StatusOK {
		t.Errorf("v3 must still work: %d %s", status, body)
	}
}

// measureView returns how long a page view without a lock takes.
func measureView(t *testing.T, instance *servers.Instance) time.Duration {
	t.Helper()
	began := time.Now()
	if status, _, body := ask(t, http.MethodPost, instance.URL+"/v0/pview"); status != http.StatusOK {
		t.Errorf("v0: %d %s", status, body)
	}
	return time.Since(began)
}

// waitUntilWorking waits until page views of a version work and the instance is ready, and returns how long that took.
func waitUntilWorking(t *testing.T, instance *servers.Instance, version string) time.Duration {
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
