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

// Redis hangs, comes back and dies while the instance runs. Each response comes in time and names the server, but for a limiter that is to
// fail open. The log has one line when Redis is lost and one when it is back, and the client libraries print nothing outside of it.
func TestRedisGoesAway(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node := testenv.Redis(t, testenv.RedisServer.Met())
	instance := startInstance(t, node, "--lease=3s", "--limiter-fails=open")
	ask(t, http.MethodPost, instance.URL+"/orders")
	wantUnavailable := func(state string) {
		t.Helper()
		for _, request := range []string{
			"POST /v0/pview", "POST /v2/pview", "POST /v3/pview", "GET /pview", "POST /v3/orders/1/grab?driver=1", "GET /readyz",
		} {
			method, path, _ := strings.Cut(request, " ")
			began := time.Now()
			status, _, body := ask(t, method, instance.URL+path)
			if took := time.Since(began); status != http.StatusServiceUnavailable || !strings.Contains(body, node.Addr) || took > 20*time.Second {
				t.Errorf("%s, %s: %d %s after %s; want 503 naming %s", state, request, status, body, took, node.Addr)
			}
		}
		status, header, body := ask(t, http.MethodGet, instance.URL+"/r3/quotes")
		if status != http.StatusOK || header.Get("RateLimit-Remaining") != "" { // it was not counted
			t.Errorf("%s, a limiter that fails open: %d %v %s", state, status, header, body)
		}
	}
	count := func(text string) int { return strings.Count(instance.Log(), text) }
	testenv.Pause(t, node)
	wantUnavailable("paused")
	node.Resume()
	testenv.Eventually(t, "the log says that Redis is back", func() bool { return count(`"msg":"server back"`) > 0 })
	if count(`"msg":"server lost"`) != 1 || count(`"msg":"server back"`) != 1 {
		t.Error(instance.Log())
	}
	node.Kill()
	wantUnavailable("dead")
	if status, _, _ := ask(t, http.MethodGet, instance.URL+"/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d, want 200 because the process is alive", status)
	}
	for line := range strings.Lines(instance.Log()) {
		if strings.HasSuffix(line, "\n") && !json.Valid([]byte(line)) { // the last line may be incomplete
			t.Errorf("not a JSON log line: %s", line)
		}
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
// second of its server, and always within a lease. One fast recovery of two is enough, because the machine may be busy: a client that
// always waits longer fails both. For the same reason the bounds grow with the duration of a request without a lock.
func TestTheServerOfALockGoesAway(t *testing.T) {
	t.Parallel()
	// A killed server may have an acquire but not its release, and then keeps the lock for a lease.
	const lease = 6 * time.Second
	for _, v := range versions.All() {
		if v.Server() == "" || v.Server() == versions.NameRedis || v.Server() == versions.NameRedLock { // see TestRedisGoesAway
			continue
		}
		version := v.Name
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			testenv.Slow(t)
			started := startKind(t, v.Server())
			server := started.Each[0]
			instance := startInstance(t, testenv.Redis(t, false), "--lease="+lease.String(), "--request=1s", v.Flag()+"="+started.Addrs[0])
			var resumed, restarted, usual []time.Duration
			stalls := testenv.WatchStalls(t)
			waitUntilWorking(t, instance, version)
			for range 2 { // in the second round, the instance finds broken connections
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
			soon := time.Second + 20*usual[len(usual)/2] + stalls.Longest()
			if slices.Min(resumed) > soon || slices.Min(restarted) > soon {
				t.Errorf("no recovery within %s", soon)
			}
			if slices.Max(slices.Concat(resumed, restarted)) > lease+soon {
				t.Errorf("a recovery took longer than the lease of %s", lease)
			}
		})
	}
}

// wantGone checks that responses of version name the server that is gone, and that other versions work.
func wantGone(t *testing.T, instance *servers.Instance, version, addr string) {
	t.Helper()
	for _, request := range []string{"POST /" + version + "/pview", "GET /readyz"} {
		method, path, _ := strings.Cut(request, " ")
		status, _, body := ask(t, method, instance.URL+path)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, addr) {
			t.Errorf("%s: %d %s; want 503 naming %s", request, status, body, addr)
		}
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
