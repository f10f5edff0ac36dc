//go:build unix

package main

import (
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/pview"
)

// put sends a PUT request that must succeed.
func put(t *testing.T, url, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(testenv.Context(t), http.MethodPut, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("PUT %s: %d", url, answer.StatusCode)
	}
}

func TestRedisPasswordAndAddrMap(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	admin := redis.NewClient(&redis.Options{Addr: node.Addr})
	defer admin.Close()
	if err := admin.ConfigSet(t.Context(), "requirepass", "secret").Err(); err != nil {
		t.Fatal(err)
	}
	announced := &servers.Node{Restartable: servers.Restartable{Addr: "192.0.2.1:6379"}} // reserved for documentation (RFC 5737)
	for name, instance := range map[string]*servers.Instance{
		"a password": startInstance(t, node, "--redis-password=secret"),
		"a map":      startInstance(t, announced, "--redis-password=secret", "--addr-map="+announced.Addr+"="+node.Addr),
	} {
		if status, _, body := ask(t, http.MethodPost, instance.URL+"/v0/pview"); status != http.StatusOK {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
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

func TestCacheTTL(t *testing.T) {
	t.Parallel()
	node := testenv.Redis(t, false)
	instance, client := startInstance(t, node, "--cache-ttl=1m", "--lease=5s"), redis.NewClient(&redis.Options{Addr: node.Addr})
	defer client.Close()
	put(t, instance.URL+"/c0/items/7", `{"text": "x"}`)
	if status, _, body := ask(t, http.MethodGet, instance.URL+"/c0/items/7"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if left := client.PTTL(t.Context(), "c0:item:7").Val(); left <= 10*time.Second || left > time.Minute {
		t.Errorf("the item expires in %s, want a minute", left)
	}
}

// The timeouts of the flags are those of the locks.
func TestTimeoutsReachTheLocks(t *testing.T) {
	c := serveCommand{
		Topology: "single", Redis: []string{testenv.Redis(t, false).Addr}, Database: "sqlite:" + filepath.Join(t.TempDir(), "lab.db"),
		Lease: 9 * time.Second, Request: 2 * time.Second, NodeTimeout: time.Second,
	}
	p, err := c.open(testenv.Context(t))
	defer p.close(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if b := p.backends; b.Expiry != c.Lease || b.Request != c.Request || b.NodeTimeout != c.NodeTimeout {
		t.Errorf("lease %s, request %s, node timeout %s", b.Expiry, b.Request, b.NodeTimeout)
	}
}
