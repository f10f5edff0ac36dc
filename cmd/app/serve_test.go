//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/handlers"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/topology"
	"locklab/versions"
)

// startInstance starts an instance as a process. node is its Redis.
func startInstance(t *testing.T, node *servers.Node, flags ...string) *servers.Instance {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append([]string{
		self, "serve", "--listen=127.0.0.1:0", "--log-format=json", "--redis=" + node.Addr,
		"--database=sqlite:" + filepath.Join(t.TempDir(), "orders.db"),
	}, flags...)
	instance, err := testenv.Stack(t).Instance(testenv.Context(t), "instance", argv...)
	if err != nil {
		t.Fatal(err)
	}
	return instance
}

// ask sends a request and returns the status, header and body of the response.
func ask(t *testing.T, method, url string) (int, http.Header, string) {
	t.Helper()
	status, header, body, err := send(testenv.Context(t), method, url)
	if err != nil {
		t.Fatal(err)
	}
	return status, header, body
}

func send(ctx context.Context, method, url string) (status int, header http.Header, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return 0, nil, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, string(text), err
}

// In containers, the addresses of the backends are always set, and LAB_BACKENDS says whether to use them.
func TestNoBackends(t *testing.T) {
	const nobody = "127.0.0.1:1"
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := []string{
		"env", "LAB_BACKENDS=0", self, "serve", "--listen=127.0.0.1:0", "--log-format=json", "--redis=" + testenv.Redis(t, false).Addr,
		"--database=sqlite:" + filepath.Join(t.TempDir(), "orders.db"),
	}
	for _, kind := range servers.Backends() {
		argv = append(argv, "--"+kind.Name+"="+nobody)
	}
	s, err := testenv.Stack(t).Instance(testenv.Context(t), "instance", argv...)
	if err != nil {
		t.Fatal(err)
	}
	code, _, body := ask(t, http.MethodGet, s.URL+"/healthz")
	if code != http.StatusOK || !strings.Contains(body, `"versions":["v0","v1","v2","v3","v5"]`) {
		t.Errorf("%d: %s", code, body)
	}
}

func TestServeNamesUnreachableServers(t *testing.T) {
	testenv.Slow(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	node, other := testenv.Redis(t, false), testenv.Redis(t, false)
	const nobody = "127.0.0.1:1"
	type mistake struct {
		name string
		flag string
		want []string
	}
	mistakes := []mistake{
		{"a port in use", "--listen=" + taken.Addr().String(), []string{"--listen", taken.Addr().String(), "in use"}},
		{"no Redis", "--redis=" + nobody, []string{"--redis", nobody, "refused"}},
		{"no cluster", "--topology=cluster --redis=" + nobody, []string{"--redis", nobody, "cluster"}},
		{"no sentinel", "--topology=sentinel --redis=" + nobody, []string{"--redis", nobody, "sentinel"}},
		{
			"no RedLock majority", "--redlock=127.0.0.1:1,127.0.0.1:2," + other.Addr,
			[]string{"--redlock", nobody, "127.0.0.1:2", "2 of 3 nodes"},
		},
		{"Redis in place of ZooKeeper", "--zookeeper=" + other.Addr, []string{"--zookeeper", other.Addr, "is no ZooKeeper"}},
		{"Redis in place of MySQL", "--database=mysql:root:hush@tcp(" + other.Addr + ")/x", []string{"--database", other.Addr}},
		{"no database", "--database=mysql:root:hush@tcp(" + nobody + ")/x", []string{"--database", nobody, "refused"}},
	}
	for _, kind := range servers.Backends() {
		flag := "--" + kind.Name
		mistakes = append(mistakes, mistake{"no " + kind.Title, flag + "=" + nobody, []string{flag, nobody}},
			mistake{"Redis in place of a " + kind.Title, flag + "=" + other.Addr, []string{flag, other.Addr}})
	}
	for _, c := range mistakes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			flags := []string{"serve", "--start-timeout=5s"} // long enough for the servers that do answer
			for _, standard := range []string{"--listen=127.0.0.1:0", "--redis=" + node.Addr, "--database=sqlite:" + filepath.Join(t.TempDir(),
				"orders.db")} {
				if name, _, _ := strings.Cut(standard, "="); !strings.Contains(c.flag, name+"=") {
					flags = append(flags, standard)
				}
			}
			got := app(testenv.Context(t), append(flags, strings.Fields(c.flag)...)...)
			wantSentence(t, got, exitUnavailable, c.want...)
			if strings.Contains(got.err, "hush") {
				t.Errorf("the error has a password: %s", got.err)
			}
		})
	}
}

// A wrong or missing etcd password is an error, which does not show the password.
func TestServeWithAWrongEtcdPassword(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node, server, ctx := testenv.Redis(t, false), startKind(t, versions.NameEtcd).Each[0], testenv.Context(t)
	opened, err := topology.OpenEtcd(ctx, topology.EtcdConfig{Addrs: []string{server.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	_, err = opened.UserAdd(ctx, "root", "secret")
	if err == nil {
		_, err = opened.UserGrantRole(ctx, "root", "root")
	}
	if err == nil {
		_, err = opened.AuthEnable(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--etcd-user=root", "--etcd-password=hush"}} {
		got := app(ctx, append([]string{
			"serve", "--listen=127.0.0.1:0", "--start-timeout=5s", "--redis=" + node.Addr, "--etcd=" + server.Addr,
			"--database=sqlite:" + filepath.Join(t.TempDir(), "orders.db"),
		}, flags...)...)
		if wantSentence(t, got, exitUnavailable, "--etcd", server.Addr, "wrong or missing"); strings.Contains(got.err, "hush") {
			t.Errorf("the error has a password: %s", got.err)
		}
	}
	instance := startInstance(t, node, "--etcd="+server.Addr, "--etcd-user=root", "--etcd-password=secret")
	if status, _, body := ask(t, http.MethodPost, instance.URL+"/v7/pview"); status != http.StatusOK {
		t.Errorf("with the right password: %d %s", status, body)
	}
}

// A file that is not a database is an error right away: waiting would not help.
func TestServeWithAFileThatIsNotADatabase(t *testing.T) {
	node, dir := testenv.Redis(t, false), t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, dir} {
		began := time.Now()
		got := app(testenv.Context(t), "serve", "--listen=127.0.0.1:0", "--start-timeout=1m", "--redis="+node.Addr, "--database=sqlite:"+path)
		wantSentence(t, got, exitUnavailable, "--database", path)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("took %s", took)
		}
	}
}

func TestInstanceIsNamedAfterItsPort(t *testing.T) {
	instance := startInstance(t, testenv.Redis(t, false))
	_, port, _ := strings.Cut(strings.TrimPrefix(instance.URL, "http://"), ":")
	if instance.Name != port {
		t.Fatalf("the instance at %s is called %q", instance.URL, instance.Name)
	}
}

// startGrab starts a grab, and returns when its instance holds the lock. The response comes on answer.
func startGrab(t *testing.T, instance *servers.Instance, node *servers.Node) (admin *redis.Client, answer <-chan string) {
	t.Helper()
	ask(t, http.MethodPost, instance.URL+"/orders")
	admin = redis.NewClient(&redis.Options{Addr: node.Addr})
	t.Cleanup(func() { _ = admin.Close() })
	answered := make(chan string, 1)
	testenv.Go(t, func(ctx context.Context) {
		status, _, body, err := send(ctx, http.MethodPost, instance.URL+"/v3/orders/1/grab?driver=7")
		if err != nil {
			body = err.Error()
		}
		answered <- http.StatusText(status) + " " + body
	})
	testenv.Eventually(t, "the lock is held", func() bool { return admin.Exists(t.Context(), "lock:order:{1}").Val() == 1 })
	return admin, answered
}

func TestSIGTERMFinishesRequests(t *testing.T) {
	t.Parallel()
	node := testenv.Redis(t, false)
	instance := startInstance(t, node, "--order-think=2s")
	admin, answer := startGrab(t, instance, node)
	if err := syscall.Kill(instance.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "new connections are refused", func() bool { return !listens(instance.URL) })
	if got := <-answer; !strings.HasPrefix(got, "OK") || !strings.Contains(got, `"won":true`) {
		t.Errorf("the request was not finished: %s", got)
	}
	if code := instance.ExitCode(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if admin.Exists(t.Context(), "lock:order:{1}").Val() != 0 {
		t.Error("the lock is still held")
	}
}

// After SIGTERM, a request that takes too long is cancelled and its lock is released.
func TestSIGTERMCancelsLongRequests(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node := testenv.Redis(t, false)
	instance := startInstance(t, node, "--order-think=1h")
	admin, answer := startGrab(t, instance, node)
	began := time.Now()
	if err := syscall.Kill(instance.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := instance.ExitCode(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if took := time.Since(began); took > handlers.ShutdownTimeout+10*time.Second {
		t.Errorf("took %s", took)
	}
	if got := <-answer; strings.HasPrefix(got, "OK") {
		t.Errorf("a request of an hour ended with %s", got)
	}
	if admin.Exists(t.Context(), "lock:order:{1}").Val() != 0 {
		t.Error("the lock is still held")
	}
}

// A request that waits longer than --wait gets 503 with Retry-After. The holder is not disturbed: --wait bounds only its acquire.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node := testenv.Redis(t, false)
	instance := startInstance(t, node, "--wait=2s", "--order-think=7s")
	_, answer := startGrab(t, instance, node)
	status, header, body := ask(t, http.MethodPost, instance.URL+"/v3/orders/1/grab?driver=8")
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s, want 503 with Retry-After", status, header, body)
	}
	if got := <-answer; !strings.HasPrefix(got, "OK") {
		t.Errorf("the holder was disturbed: %s", got)
	}
}

// If ACLs forbid Pub/Sub, instances poll: each one gets its turn, and one log line and /readyz say why they are slow.
func TestWithoutPubSub(t *testing.T) {
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	for _, rights := range []string{"resetchannels", "-subscribe"} {
		t.Run(rights, func(t *testing.T) {
			t.Parallel()
			node := testenv.Redis(t, true)
			admin := redis.NewClient(&redis.Options{Addr: node.Addr})
			t.Cleanup(func() { _ = admin.Close() })
			if err := admin.Do(t.Context(), "acl", "setuser", "default", rights).Err(); err != nil {
				t.Fatal(err)
			}
			instances := []*servers.Instance{startInstance(t, node), startInstance(t, node)}
			var views [2]atomic.Int64
			var all sync.WaitGroup
			for i, instance := range instances {
				for range 4 {
					all.Go(func() {
						for views[0].Load() < 20 || views[1].Load() < 20 {
							if status, _, body := ask(t, http.MethodPost, instance.URL+"/v3/pview"); status != http.StatusOK {
								t.Errorf("%d %s", status, body)
								return
							}
							views[i].Add(1)
						}
					})
				}
			}
			all.Wait()
			t.Logf("views: %d and %d", views[0].Load(), views[1].Load())
			for range 2 {
				status, body := waitForPreflight(t, instances[0])
				if status != http.StatusOK || !strings.Contains(body, "NOPERM") || !strings.Contains(body, "they poll") {
					t.Errorf("%d %s", status, body)
				}
			}
			if log := instances[0].Log(); strings.Count(log, "they poll") != 1 {
				t.Errorf("the log is %s", log)
			}
		})
	}
}
