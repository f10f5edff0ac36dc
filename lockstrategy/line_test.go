package lockstrategy

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/stack/faultproxy"
	"locklab/topology"
)

// Slots move, and the subscription of a sharded channel ends with it: the process listens where the slot is now.
func TestShardedLineFollowsItsSlot(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	ctx := testenv.Context(t)
	started, err := testenv.Stack(t).Topology(ctx, string(topology.Cluster), true)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := topology.Open(ctx, topology.Config{Kind: topology.Cluster, Addrs: started.Addrs})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	cluster := opened.Master.(*redis.ClusterClient)
	news := newNews(cluster, "1")
	defer news.close()
	e := newEar(channelOf("lock:k"))
	news.join(e, true)
	defer news.leave(e)
	testenv.Eventually(t, "it listens", func() bool { return e.take() == began })

	slot := int(cluster.ClusterKeySlot(ctx, e.channel).Val())
	owner, err := cluster.MasterForKey(ctx, e.channel)
	if err != nil {
		t.Fatal(err)
	}
	other := anotherMaster(t, cluster, owner)
	id, err := other.Do(ctx, "cluster", "myid").Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []*redis.Client{other, owner} {
		if err := node.Do(ctx, "cluster", "setslot", slot, "node", id).Err(); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, "a message at the new place is heard", func() bool {
		n, err := other.SPublish(ctx, e.channel, "1").Result()
		return err == nil && n == 1 && e.take()&called != 0
	})
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

// A connection whose other end is gone without a word is given up, and what is told then is heard by another.
func TestLineGivesUpASilentConnection(t *testing.T) {
	t.Parallel()
	node := testenv.Redis(t, false)
	proxy := faultproxy.New(faultproxy.TCP(node.Addr)) // of the first connection
	defer proxy.Close()
	var first sync.Once
	client := redis.NewClient(&redis.Options{
		Addr: node.Addr, MaxRetries: -1, DisableIdentity: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dial := new(net.Dialer).DialContext
			first.Do(func() { dial = proxy.DialContext })
			return dial(ctx, network, addr)
		},
	})
	defer client.Close()
	news := newNews(client, "1")
	defer news.close()
	e := newEar("c")
	news.join(e, false)
	defer news.leave(e)
	testenv.Eventually(t, "it listens", func() bool { return e.take() == began })
	proxy.Drop(faultproxy.ToClient)
	testenv.Eventually(t, "it listens again", func() bool { return e.take() == began })
	if err := client.Publish(t.Context(), "c", "1").Err(); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "it hears", func() bool { return e.take() == called })
}

// A channel that the user must not hear keeps no other from being heard.
func TestLineHearsBesideAChannelThatIsRefused(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	node := testenv.Redis(t, true)
	admin := redis.NewClient(&redis.Options{Addr: node.Addr, DisableIdentity: true})
	defer admin.Close()
	if err := admin.Do(t.Context(), "acl", "setuser", "half", "on", "nopass", "+@all", "~*", "resetchannels", "&good*").Err(); err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(&redis.Options{Addr: node.Addr, Username: "half", Password: "any", MaxRetries: -1, DisableIdentity: true})
	defer client.Close()
	news := newNews(client, "1")
	defer news.close()
	bad, good := newEar("bad"), newEar("good")
	for _, e := range []*ear{bad, good} {
		news.join(e, false)
		defer news.leave(e)
	}
	testenv.Eventually(t, "it listens", func() bool { return good.take() == began })
	for range 3 { // over more than one look, at which the refused one is asked for again
		testenv.Eventually(t, "the refused one was asked for again", func() bool { return refusals(t, admin) > 1 })
		if err := admin.Do(t.Context(), "acl", "log", "reset").Err(); err != nil {
			t.Fatal(err)
		}
		if n, err := admin.Publish(t.Context(), "good", "1").Result(); err != nil || n != 1 {
			t.Fatalf("%d hear it, %v", n, err)
		}
		testenv.Eventually(t, "it hears", func() bool { return good.take() == called })
	}
	if bad.take() != 0 {
		t.Error("the refused one hears something")
	}
}

// refusals is how often a channel was refused, as the server logs it.
func refusals(t *testing.T, admin *redis.Client) (n int64) {
	t.Helper()
	entries, err := admin.ACLLog(t.Context(), 10).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		n += e.Count
	}
	return n
}
