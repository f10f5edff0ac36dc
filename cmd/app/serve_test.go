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
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/handlers"
	"locklab/lab/servers"
	"locklab/lab/testenv"
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
