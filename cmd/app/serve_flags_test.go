//go:build unix

package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/pview"
	"locklab/stack"
)

// Flags of serve that join parts of the program are tested here, on an instance that runs.

// put sends a body.
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

// The password, and the address at which this machine reaches what Redis calls itself, come from flags.
func TestServeWithAPasswordAndAMap(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	admin := redis.NewClient(&redis.Options{Addr: node.Addr})
	defer admin.Close()
	if err := admin.ConfigSet(t.Context(), "requirepass", "secret").Err(); err != nil {
		t.Fatal(err)
	}
	elsewhere := &stack.Node{Restartable: stack.Restartable{Addr: "192.0.2.1:6379"}} // nobody's: of the range for documentation
	for name, instance := range map[string]*stack.Instance{
		"a password": serving(t, node, "--redis-password=secret"),
		"a map":      serving(t, elsewhere, "--redis-password=secret", "--addr-map="+elsewhere.Addr+"="+node.Addr),
	} {
		if status, _, body := ask(t, http.MethodPost, instance.URL+"/v0/pview"); status != http.StatusOK {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

// ?from=replica asks a replica, where the counter may be old.
func TestTheReplicaIsAsked(t *testing.T) {
	t.Parallel()
	started := testenv.Topology(t, "master-slave")
	var others []string
	for _, replica := range started.Nodes[1:] {
		client := redis.NewClient(&redis.Options{Addr: replica.Addr})
		defer client.Close()
		err := client.ConfigSet(t.Context(), "replica-read-only", "no").Err()
		if err == nil {
			err = client.Set(t.Context(), pview.Key, 41, 0).Err() // which the master does not know
		}
		if err != nil {
			t.Fatal(err)
		}
		others = append(others, "--redis="+replica.Addr)
	}
	instance := serving(t, started.Nodes[0], append(others, "--topology=master-slave")...)
	for path, want := range map[string]string{"/pview": `"value":0`, "/pview?from=replica": `"value":41`} {
		if status, _, body := ask(t, http.MethodGet, instance.URL+path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
}

// An item stays in the cache for --cache-ttl.
func TestTheCacheHasItsTTL(t *testing.T) {
	t.Parallel()
	node := testenv.Redis(t, false)
	instance, client := serving(t, node, "--cache-ttl=1m", "--lease=5s"), redis.NewClient(&redis.Options{Addr: node.Addr})
	defer client.Close()
	put(t, instance.URL+"/c0/items/7", `{"text": "x"}`)
	if status, _, body := ask(t, http.MethodGet, instance.URL+"/c0/items/7"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if left := client.PTTL(t.Context(), "c0:item:7").Val(); left <= 10*time.Second || left > time.Minute {
		t.Errorf("it is kept for %s, want a minute", left)
	}
}

// A message that is delivered twice makes one parcel, also when a worker that has died had got it 31 seconds ago.
func TestAnInstancePacksOneParcel(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	instance, client, ctx := serving(t, node), redis.NewClient(&redis.Options{Addr: node.Addr}), testenv.Context(t)
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
		t.Errorf("the messages of the dead worker stay: %+v, %v", left, err)
	}
}

// --request and --node-timeout bound the wait for a server that hangs. Another instance, which asks the same servers, waits for a third of
// its lease. This time is longer than the flags say, and shorter than the default for the usual lease. Where this process was
// stalled, an instance may have been, too: both are asked again.
func TestAnAnswerIsWaitedForAsTheFlagsSay(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node, nodes := testenv.Redis(t, true), []*stack.Node{testenv.Redis(t, true), testenv.Redis(t, true), testenv.Redis(t, true)}
	flags := []string{"--redlock=" + nodes[0].Addr + "," + nodes[1].Addr + "," + nodes[2].Addr}
	short := serving(t, node, append(flags, "--request=20ms", "--node-timeout=20ms")...)
	long := serving(t, node, append(flags, "--lease=1200ms")...)
	for _, hung := range []struct {
		path   string
		server *stack.Node
		others []*stack.Node
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
			t.Errorf("%s: the instance that waits for 400 ms answers before the one that waits for 20 ms", hung.path)
		}
	}
}

// firstToAnswer sends a request to each of two instances, and leaves when one has answered.
func firstToAnswer(t *testing.T, path string, instances ...*stack.Instance) *stack.Instance {
	t.Helper()
	waiting, leave := context.WithCancel(testenv.Context(t))
	answered := make(chan *stack.Instance, len(instances))
	for _, instance := range instances {
		request, err := http.NewRequestWithContext(waiting, http.MethodPost, instance.URL+path, nil)
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
	leave()
	<-answered
	return first
}
