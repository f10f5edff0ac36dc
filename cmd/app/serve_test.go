//go:build unix

package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/pview"
	"locklab/versions"
)

// startInstance starts an instance as a process. node is its Redis.
func startInstance(t *testing.T, node *servers.Node, flags ...string) *servers.Instance {
	t.Helper()
	s := testenv.Stack(t)
	argv := append([]string{
		program(t), "serve", "--listen=127.0.0.1:0", "--log-format=json", "--redis=" + node.Addr, "--database=" + s.SQLite(),
	}, flags...)
	instance, err := s.Instance(testenv.Context(t), "instance", argv...)
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

// openFlags opens the parts of an instance that has these flags, besides its Redis.
func openFlags(t *testing.T, flags ...string) *parts {
	t.Helper()
	parser, err := newParser(t.Context(), streams{io.Discard, io.Discard}, nil)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--redis=" + testenv.Redis(t, false).Addr, "--database=" + testenv.Stack(t).SQLite()}
	parsed, err := parser.Parse(append(args, flags...))
	if err != nil {
		t.Fatal(err)
	}
	c := parsed.Selected().Target.Addr().Interface().(*serveCommand)
	p, err := c.open(testenv.Context(t))
	t.Cleanup(func() { p.close(slog.New(slog.DiscardHandler)) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The timeouts of the flags are those of the locks.
func TestTimeoutsReachTheLocks(t *testing.T) {
	t.Parallel()
	p := openFlags(t, "--lease=9s", "--request=2s", "--node-timeout=1s")
	if b := p.backends; b.Expiry != 9*time.Second || b.Request != 2*time.Second || b.NodeTimeout != time.Second {
		t.Errorf("lease %s, request %s, node timeout %s", b.Expiry, b.Request, b.NodeTimeout)
	}
}

// In containers, the addresses of the backends are always set, and LAB_BACKENDS says whether to use them.
func TestNoBackends(t *testing.T) {
	t.Setenv("LAB_BACKENDS", "0")
	var flags []string
	for _, kind := range servers.Backends() {
		flags = append(flags, "--"+kind.Name+"=127.0.0.1:1") // nobody
	}
	if p, want := openFlags(t, flags...), versionsWith("redis", "database"); !slices.Equal(p.versionNames(), want) {
		t.Errorf("the instance has %q, want %q", p.versionNames(), want)
	}
}

// versionsWith are the versions that need no other servers than these.
func versionsWith(kinds ...string) []string {
	return slices.DeleteFunc(versions.Names(), func(version string) bool {
		return slices.ContainsFunc(versions.RequiredServers(version), func(kind string) bool { return !slices.Contains(kinds, kind) })
	})
}

// An instance that cannot start names the flag and the address, and no password. Package topology has the errors of each kind of server.
func TestServeNamesUnreachableServers(t *testing.T) {
	testenv.Slow(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	redis, other := testenv.Redis(t, false).Addr, testenv.Redis(t, false).Addr
	const nobody = "127.0.0.1:1"
	for flag, want := range map[string][]string{
		"--listen=" + taken.Addr().String():              {"--listen", taken.Addr().String(), "in use"},
		"--redis=" + nobody:                              {"--redis", nobody, "refused"},
		"--redlock=127.0.0.1:1,127.0.0.1:2," + other:     {"--redlock", nobody, "127.0.0.1:2", "2 of 3 nodes"},
		"--zookeeper=" + other:                           {"--zookeeper", other, "is no ZooKeeper"},
		"--memcached=" + nobody:                          {"--memcached", nobody},
		"--database=mysql:root:hush@tcp(" + other + ")/": {"--database", other},
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			flags := []string{"serve", "--start-timeout=5s", "--listen=127.0.0.1:0", "--database=" + testenv.Stack(t).SQLite()}
			if !strings.HasPrefix(flag, "--redis=") {
				flags = append(flags, "--redis="+redis)
			}
			got := app(testenv.Context(t), append(flags, flag)...) // of two values, the last counts
			wantSentence(t, got, exitUnavailable, want...)
			if strings.Contains(got.err, "hush") {
				t.Errorf("the error has a password: %s", got.err)
			}
		})
	}
}

// An instance that waits for its servers refuses requests immediately, so that ?wait= keeps its promise. Then it serves.
func TestServeRefusesRequestsWhileItStarts(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	testenv.Pause(t, node)
	listen, database := testenv.FreeAddr(t), testenv.Stack(t).SQLite()
	ctx, stop := context.WithCancel(testenv.Context(t))
	defer stop()
	ended := make(chan output, 1)
	testenv.Go(t, func(context.Context) {
		ended <- app(ctx, "serve", "--listen="+listen, "--instance=blue", "--redis="+node.Addr, "--start-timeout=1h", "--database="+database)
	})
	view := "http://" + listen + "/v3/pview?wait=0"
	var (
		status int
		header http.Header
		body   string
	)
	testenv.Eventually(t, "the instance listens", func() bool {
		var err error
		status, header, body, err = send(ctx, http.MethodPost, view)
		return err == nil
	})
	if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(body, "blue is starting") {
		t.Errorf("%d %v %s", status, header, body)
	}
	for _, flag := range []string{"--alive", "--alive=false"} {
		wantSentence(t, app(ctx, "health", "--listen="+listen, flag), exitUnavailable, "blue is starting")
	}
	node.Resume()
	testenv.Eventually(t, "the instance serves", func() bool {
		status, _, body = ask(t, http.MethodPost, view)
		return status == http.StatusOK
	})
	if !strings.Contains(body, `"value":1`) {
		t.Errorf("a refused view was counted: %s", body)
	}
	stop()
	if got := <-ended; got.code != exitOK {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}

// An instance reaches a Redis that has a password and announces another address. It is not ready while Redis grants no lock, and says why,
// also what makes its locks weak. It is ready after a repair, and without one node of RedLock.
func TestReadyz(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	s := testenv.Stack(t)
	node := testenv.Redis(t, true)
	admin := redis.NewClient(&redis.Options{Addr: node.Addr})
	defer admin.Close()
	do := func(command string) {
		t.Helper()
		if err := admin.Do(t.Context(), anys(strings.Fields(command))...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	do("config set maxmemory 100mb")
	do("config set maxmemory-policy allkeys-lru")
	do("config set requirepass secret")
	do("acl setuser default -hset")
	nodes, err := s.RedLock(testenv.Context(t), 3, false)
	if err != nil {
		t.Fatal(err)
	}
	const announced = "192.0.2.1:6379" // reserved for documentation (RFC 5737)
	instance := startInstance(t, &servers.Node{Restartable: servers.Restartable{Addr: announced}}, "--redis-password=secret",
		"--addr-map="+announced+"="+node.Addr, "--redlock="+strings.Join(servers.Addrs(nodes), ","))
	var readiness struct {
		Unreachable map[string]string
		Preflight   []struct {
			Lock       string
			Weaknesses []struct{ What, Remedy string }
		}
	}
	becomes := func(want int, word string) {
		t.Helper()
		testenv.Eventually(t, "/readyz says "+word, func() bool {
			status, _, body := ask(t, http.MethodGet, instance.URL+"/readyz")
			if err := json.Unmarshal([]byte(body), &readiness); err != nil {
				t.Fatal(body, err)
			}
			return status == want && strings.Contains(body, word)
		})
	}
	becomes(http.StatusServiceUnavailable, "docs/cli.md")
	do("acl setuser default +hset")
	becomes(http.StatusOK, "allkeys-lru")
	if v3 := readiness.Preflight[0]; v3.Lock != "v3" || len(v3.Weaknesses) == 0 || v3.Weaknesses[0].Remedy == "" {
		t.Errorf("%+v", readiness.Preflight)
	}
	nodes[0].Kill() // a majority remains
	if status, _, body := ask(t, http.MethodGet, instance.URL+"/readyz"); status != http.StatusOK {
		t.Errorf("without a node of RedLock: %d %s", status, body)
	}
}

func anys(words []string) (all []any) {
	for _, word := range words {
		all = append(all, word)
	}
	return all
}

// ?from=replica reads the counter of a replica, which may be stale.
func TestReadFromReplica(t *testing.T) {
	t.Parallel()
	started := testenv.Topology(t, "master-slave")
	var others []string
	for _, replica := range started.Nodes[1:] {
		client := redis.NewClient(&redis.Options{Addr: replica.Addr})
		defer client.Close()
		err := client.ConfigSet(t.Context(), "replica-read-only", "no").Err()
		if err == nil {
			err = client.Set(t.Context(), pview.Key, 41, 0).Err() // the master has 0
		}
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, "--redis="+replica.Addr)
	}
	instance := startInstance(t, started.Nodes[0], append(others, "--topology=master-slave")...)
	for path, want := range map[string]string{"/pview": `"value":0`, "/pview?from=replica": `"value":41`} {
		if status, _, body := ask(t, http.MethodGet, instance.URL+path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
}

// --cache-ttl is the lifetime of an item.
func TestCacheTTL(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	running := pair(t)
	client := redis.NewClient(&redis.Options{Addr: running.Redis.Addrs[0]})
	defer client.Close()
	text := strings.NewReader(`{"text": "x"}`)
	request, err := http.NewRequestWithContext(testenv.Context(t), http.MethodPut, running.URL+"/c0/items/7", text)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	answer.Body.Close()
	if status, _, body := ask(t, http.MethodGet, running.URL+"/c0/items/7"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if left := client.PTTL(t.Context(), "c0:item:7").Val(); left <= 10*time.Second || left > time.Minute {
		t.Errorf("the item expires in %s, want a minute", left)
	}
}
