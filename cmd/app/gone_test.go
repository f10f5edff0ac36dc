//go:build unix

package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"locklab/internal/testenv"
	"locklab/stack"
	"locklab/versions"
)

// The servers go away while the instance runs: each answer comes within a bound and names the server.
func TestRedisGoesAway(t *testing.T) {
	t.Parallel()
	node := testenv.Redis(t, false)
	instance := serving(t, node, "--lease=3s")
	ask(t, http.MethodPost, instance.URL+"/orders")
	for _, fault := range []struct {
		name string
		do   func()
		undo func()
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
		fault.undo()
	}
	if status, _, _ := ask(t, http.MethodGet, instance.URL+"/healthz"); status != http.StatusOK {
		t.Errorf("the process is well, and says %d", status)
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
	restart func(context.Context) error
}

func zooKeeperServer(t *testing.T) goneServer {
	server := testenv.Ensemble(t, 1)[0]
	return goneServer{server, server.Addr, func(ctx context.Context) error { _, err := server.Restart(ctx); return err }}
}

func etcdServer(t *testing.T) goneServer {
	testenv.Needs(t, testenv.Etcd)
	servers, err := testenv.Stack(t).Etcd(testenv.Context(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	server := servers.Members[0]
	return goneServer{server, server.Addr, server.Restart}
}

func memcachedServer(t *testing.T) goneServer {
	testenv.Needs(t, testenv.Memcached)
	server, err := testenv.Stack(t).Memcached(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return goneServer{server, server.Addr, func(ctx context.Context) error { _, err := server.Restart(ctx); return err }}
}

// The server of a version goes away and comes back while the instance runs. The other versions do not notice.
func TestTheServerOfALockGoesAway(t *testing.T) {
	t.Parallel()
	for version, start := range map[string]func(*testing.T) goneServer{"v6": zooKeeperServer, "v7": etcdServer, "v8": memcachedServer} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server, flag := start(t), versions.Needs(version)[0].Flag()
			instance := serving(t, testenv.Redis(t, false), "--lease=6s", "--start-timeout=30s", flag+"="+server.addr)
			for range 2 { // the second round finds connections that have ended
				awaitWorks(t, instance, version)
				testenv.Pause(t, server)
				wantGone(t, instance, version, server.addr)
				server.Resume()
				server.Kill()
				wantGone(t, instance, version, server.addr)
				if err := server.restart(testenv.Context(t)); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				awaitWorks(t, instance, version)
				if took := time.Since(began); took > 5*time.Second { // a second, and what a busy machine needs
					t.Errorf("%s is back after %s", version, took)
				}
			}
		})
	}
}

// wantGone demands answers that name the server that is gone, and that v3 works.
func wantGone(t *testing.T, instance *stack.Instance, version, addr string) {
	t.Helper()
	for _, request := range []string{"POST /" + version + "/pview", "GET /readyz", "POST /" + version + "/pview"} {
		method, path, _ := strings.Cut(request, " ")
		status, _, body := ask(t, method, instance.URL+path)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, addr) {
			t.Errorf("%s: %d %s; want 503 naming %s", request, status, body, addr)
		}
	}
	if status, _, body := ask(t, http.MethodPost, instance.URL+"/v3/pview"); status != http.StatusOK {
		t.Errorf("v3 does not notice, but: %d %s", status, body)
	}
}

// awaitWorks waits until page views of a version work, and the instance says that it is ready.
func awaitWorks(t *testing.T, instance *stack.Instance, version string) {
	t.Helper()
	for _, request := range []string{"POST /" + version + "/pview", "GET /readyz"} {
		method, path, _ := strings.Cut(request, " ")
		testenv.Eventually(t, request, func() bool {
			status, _, _ := ask(t, method, instance.URL+path)
			return status == http.StatusOK
		})
	}
}
