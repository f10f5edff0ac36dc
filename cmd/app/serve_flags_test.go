//go:build unix

package main

import (
	"context"
	"net/http"
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

// A message that is sent twice makes one parcel, even if a worker received it 31 seconds ago and died.
func TestOneParcelForTwoMessages(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	instance, client, ctx := startInstance(t, node), redis.NewClient(&redis.Options{Addr: node.Addr}), testenv.Context(t)
	defer client.Close()
	put(t, instance.URL+"/shop/items/1", `{"stock": 1}`)
	for _, path := range []string{"/shop/parcels", "/v0/shop/items/1/buy?buyer=7", "/v0/shop/orders/1/pay"} {
		if status, _, body := ask(t, http.MethodPost, instance.URL+path); status >= http.StatusMultipleChoices {
			t.Fatalf("%s: %d %s", path, status, body)
		}
	}
	const stream, group = "shop:paid", "parcels"
	err := client.XAdd(ctx, &redis.XAddArgs{Stream: stream, Values: []any{"order", 1}}).Err()
	if err != nil {
		t.Fatal(err)
	}
	read, err := client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: group, Consumer: "dead", Streams: []string{stream, ">"}}).Result()
	if err != nil || len(read[0].Messages) != 2 {
		t.Fatalf("%v, %v: want two messages", read, err)
	}
	for _, m := range read[0].Messages {
		if err := client.Do(ctx, "xclaim", stream, group, "dead", 0, m.ID, "idle", 31_000, "justid").Err(); err != nil {
			t.Fatal(err)
		}
	}
	_, _, worked := ask(t, http.MethodPost, instance.URL+"/shop/parcels")
	if _, _, body := ask(t, http.MethodGet, instance.URL+"/shop/orders/1"); !strings.Contains(body, `"parcels":1`) {
		t.Errorf("two messages of one payment: %s; %s", worked, body)
	}
	if left, err := client.XPending(ctx, stream, group).Result(); err != nil || left.Count != 0 {
		t.Errorf("messages of the dead worker remain: %+v, %v", left, err)
	}
}

// --request and --node-timeout bound the wait for a server that hangs. An instance with short timeouts must answer before one whose
// timeouts are a third of its lease. If this process stalls, the instances may have stalled, too, and the test tries again.
func TestRequestTimeouts(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node, nodes := testenv.Redis(t, true), []*servers.Node{testenv.Redis(t, true), testenv.Redis(t, true), testenv.Redis(t, true)}
	flags := []string{"--redlock=" + nodes[0].Addr + "," + nodes[1].Addr + "," + nodes[2].Addr}
	short := startInstance(t, node, append(flags, "--request=20ms", "--node-timeout=20ms")...)
	long := startInstance(t, node, append(flags, "--lease=1200ms")...)
	for _, hung := range []struct {
		path   string
		server *servers.Node
		others []*servers.Node
	}{{"/v4/orders/7/grab?driver=1", nodes[0], nodes[1:]}, {"/v3/orders/7/grab?driver=1", node, nil}} {
		for _, n := range append(hung.others, hung.server) {
			testenv.Pause(t, n)
		}
		stalls := testenv.WatchStalls(t)
		first := firstToAnswer(t, hung.path, long, short)
		for again := 0; again < 2 && first != short && stalls.Longest() > 100*time.Millisecond; again++ {
			first = firstToAnswer(t, hung.path, long, short)
		}
		if first != short {
			t.Errorf("%s: the instance with a timeout of 400 ms answered before the one with 20 ms", hung.path)
		}
	}
}

// firstToAnswer sends a request to each of two instances, and returns the one that answers first.
func firstToAnswer(t *testing.T, path string, instances ...*servers.Instance) *servers.Instance {
	t.Helper()
	ctx, cancel := context.WithCancel(testenv.Context(t))
	answered := make(chan *servers.Instance, len(instances))
	for _, instance := range instances {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, instance.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if answer, err := http.DefaultClient.Do(request); err == nil {
				answer.Body.Close()
			}
			answered <- instance
		}()
	}
	first := <-answered
	cancel()
	<-answered
	return first
}
