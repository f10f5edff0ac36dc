package pubsub_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lab/testenv"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/lockstrategy/redislock/pubsub"
	"locklab/topology"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// tally counts what a listener is told.
type tally struct{ hints, messages atomic.Int64 }

func (y *tally) tell(message bool) {
	if message {
		y.messages.Add(1)
	} else {
		y.hints.Add(1)
	}
}

func (y *tally) counts() [2]int64 { return [2]int64{y.hints.Load(), y.messages.Load()} }

// inBubble runs f in a synctest bubble, with a Redis in memory behind a fault proxy, and a client.
func inBubble(t *testing.T, f func(t *testing.T, proxy *faultproxy.Proxy, client *redis.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		defer server.Close()
		proxy := faultproxy.New(func(context.Context) (net.Conn, error) { return server.Dial() })
		client := bubble.Dial(proxy.DialContext)
		f(t, proxy, client)
		_ = client.Close()
		proxy.Close()
	})
}

func publish(t *testing.T, client *redis.Client) {
	t.Helper()
	if err := client.Publish(t.Context(), "c", "0").Err(); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func want(t *testing.T, what string, got, want [2]int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: hints that messages may be lost, messages = %v, want %v", what, got, want)
	}
}

// A listener is told that it is subscribed, then of every message; a later listener of the same channel as well.
func TestListenersHearAllMessages(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *faultproxy.Proxy, client *redis.Client) {
		hub := pubsub.New(client, false)
		defer hub.Close()
		var one, two, other tally
		defer hub.Listen("c", one.tell)()
		defer hub.Listen("another", other.tell)()
		synctest.Wait()
		publish(t, client)
		stop := hub.Listen("c", two.tell)
		publish(t, client)
		stop()
		publish(t, client)
		want(t, "the first listener", one.counts(), [2]int64{1, 3})
		want(t, "one that came later and left", two.counts(), [2]int64{1, 1})
		want(t, "one of another channel", other.counts(), [2]int64{1, 0})
	})
}

// limited opens a client of a new server, for a user who may do everything but what rules take away.
func limited(t *testing.T, rules ...any) *redis.Client {
	t.Helper()
	addr := testenv.Redis(t, true).Addr
	admin := redis.NewClient(&redis.Options{Addr: addr})
	defer admin.Close()
	all := append([]any{"acl", "setuser", "lab", "on", ">secret", "~*", "+@all"}, rules...)
	if err := admin.Do(t.Context(), all...).Err(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: addr, Username: "lab", Password: "secret", MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// A channel stays subscribed for a moment, and then it is not.
func TestAnIdleChannelIsUnsubscribed(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *faultproxy.Proxy, client *redis.Client) {
		hub := pubsub.New(client, false)
		defer hub.Close()
		subscribers := func() int64 { return client.PubSubNumSub(t.Context(), "c").Val()["c"] }
		for range 3 {
			stop := hub.Listen("c", func(bool) {})
			synctest.Wait()
			stop()
			time.Sleep(pubsub.IdleTimeout / 2)
			if subscribers() != 1 || !hub.Subscribed("c") {
				t.Error("it was unsubscribed too early")
			}
		}
		time.Sleep(2 * pubsub.IdleTimeout)
		synctest.Wait()
		if subscribers() != 0 || hub.Subscribed("c") {
			t.Error("nobody listens, and it is still subscribed")
		}
	})
}

// slowConn blocks a write with the word "slow" in it until written is closed.
type slowConn struct {
	net.Conn
	written chan struct{}
}

func (c slowConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("slow")) {
		<-c.written
	}
	return c.Conn.Write(b)
}

// A channel may be listened to again after the hub gave it up, but before the server was told. It is subscribed to once more.
func TestAChannelThatIsWantedAgain(t *testing.T) { // in no bubble: a goroutine that waits for a mutex stops its clock
	server, written := miniredis.RunT(t), make(chan struct{})
	client := bubble.Dial(func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := faultproxy.TCP(server.Addr())(ctx)
		return slowConn{conn, written}, err
	})
	defer func() { _ = client.Close() }()
	hub := pubsub.New(client, false)
	defer hub.Close()
	nothing := func(bool) {}
	stop := hub.Listen("c", nothing)
	testenv.Eventually(t, "the state of the subscription", func() bool { return hub.Subscribed("c") })
	defer hub.Listen("slow", nothing)() // until written is closed the connection writes nothing else
	stop()
	testenv.Eventually(t, "the state of the subscription", func() bool { return !hub.Subscribed("c") })
	defer hub.Listen("c", nothing)()
	close(written)
	testenv.Eventually(t, "the state of the subscription", func() bool { return hub.Subscribed("c") })
}

// A connection whose other end is gone without a word is replaced, and every listener is told.
func TestASilentConnectionIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T, proxy *faultproxy.Proxy, client *redis.Client) {
		hub := pubsub.New(client, false)
		defer hub.Close()
		var received tally
		defer hub.Listen("c", received.tell)()
		time.Sleep(time.Minute) // nothing is published, and the pings are answered
		want(t, "of a connection that answers", received.counts(), [2]int64{1, 0})
		proxy.Drop(faultproxy.Both)
		time.Sleep(10 * time.Second)
		if hub.Subscribed("c") {
			t.Error("it believes in a connection that says nothing")
		}
		proxy.Mend()
		time.Sleep(10 * time.Second)
		publish(t, client)
		want(t, "after the replacement", received.counts(), [2]int64{3, 1})
	})
}

// A connection that breaks is replaced soon.
func TestABrokenConnectionIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T, proxy *faultproxy.Proxy, client *redis.Client) {
		hub := pubsub.New(client, false)
		defer hub.Close()
		var received tally
		defer hub.Listen("c", received.tell)()
		synctest.Wait()
		proxy.Cut()
		synctest.Wait()
		if hub.Subscribed("c") {
			t.Error("it believes in a connection that is cut")
		}
		time.Sleep(time.Minute)
		proxy.Mend()
		time.Sleep(2 * time.Second)
		publish(t, client)
		want(t, "after the replacement", received.counts(), [2]int64{3, 1})
	})
}

// A channel that the user may not receive does not take the others with it.
func TestAChannelThatIsRefused(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	client := limited(t, "resetchannels", "&allowed")
	hub := pubsub.New(client, false)
	defer hub.Close()
	var refused, allowed tally
	defer hub.Listen("refused", refused.tell)()
	defer hub.Listen("allowed", allowed.tell)()
	testenv.Eventually(t, "it is subscribed to what is allowed", func() bool { return hub.Subscribed("allowed") })
	if err := client.Publish(t.Context(), "allowed", "0").Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "the message is received", func() bool { return allowed.messages.Load() == 1 })
	if hub.Subscribed("refused") {
		t.Error("it believes to be subscribed to what was refused")
	}
}

// Slots move, and the subscription to a sharded channel ends with it: the hub subscribes where the slot is now. A channel that
// nobody listens to has no subscription any more.
func TestAShardedChannelFollowsItsSlot(t *testing.T) {
	t.Parallel()
	started, ctx := testenv.Topology(t, string(topology.Cluster)), testenv.Context(t)
	opened, err := topology.Open(ctx, topology.Config{Kind: topology.Cluster, Addrs: started.Addrs})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	cluster := opened.Master.(*redis.ClusterClient)
	hub := pubsub.New(cluster, true)
	defer hub.Close()
	const channel = "redisson_lock__channel:{k}"
	var received tally
	stop := hub.Listen(channel, received.tell)
	testenv.Eventually(t, "it is subscribed", func() bool { return hub.Subscribed(channel) })

	slot := int(cluster.ClusterKeySlot(ctx, channel).Val())
	owner, err := cluster.MasterForKey(ctx, channel)
	if err != nil {
		t.Fatal(err)
	}
	other := anotherMaster(t, cluster, owner)
	id, err := other.Do(ctx, "cluster", "myid").Text()
	if err != nil {
		t.Fatal(err)
	}
	// The third master believes the claim with the higher epoch, and takes the slot from the other.
	if err := other.Do(ctx, "cluster", "bumpepoch").Err(); err != nil {
		t.Fatal(err)
	}
	for _, node := range []*redis.Client{other, owner} {
		if err := node.Do(ctx, "cluster", "setslot", slot, "node", id).Err(); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, "a message at the new place is received", func() bool {
		n, err := other.SPublish(ctx, channel, "0").Result()
		return err == nil && n == 1 && received.messages.Load() > 0
	})
	stop()
	testenv.Eventually(t, "it is unsubscribed", func() bool { return other.PubSubShardNumSub(ctx, channel).Val()[channel] == 0 })
}

func anotherMaster(t *testing.T, cluster *redis.ClusterClient, not *redis.Client) (found *redis.Client) {
	t.Helper()
	var mu sync.Mutex
	err := cluster.ForEachMaster(t.Context(), func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		if node.Options().Addr != not.Options().Addr {
			found = node
		}
		return nil
	})
	if err != nil || found == nil {
		t.Fatalf("no other master: %v", err)
	}
	return found
}
