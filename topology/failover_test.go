package topology_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/topology"
)

// A master dies; the client must find the new one by itself and write there.
func TestFailover(t *testing.T) {
	t.Parallel()
	for _, kind := range []topology.Kind{topology.Sentinel, topology.Cluster} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			started := testenv.Topology(t, string(kind))
			r, ctx := open(t, config(started)), testenv.Context(t)
			write := func() error { return r.Master.Incr(ctx, "key").Err() }
			if err := write(); err != nil {
				t.Fatal(err)
			}
			master, killed := masterOf(t, started, r), time.Now()
			master.Kill()
			if err := write(); err == nil && time.Since(killed) < time.Second { // on a busy machine it may come after the promotion
				t.Fatal("a write succeeded although its master is dead and no replica can have been promoted yet")
			}
			testenv.Eventually(t, "the client writes to the new master", func() bool { return write() == nil })
		})
	}
}

// masterOf is the node that serves "key".
func masterOf(t *testing.T, started *servers.Topology, r *topology.Redis) *servers.Node {
	t.Helper()
	addr := started.Nodes[0].Addr
	if cluster, ok := r.Master.(*redis.ClusterClient); ok {
		node, err := cluster.MasterForKey(t.Context(), "key")
		if err != nil {
			t.Fatal(err)
		}
		addr = node.Options().Addr
	}
	for _, node := range started.Nodes {
		if node.Addr == addr {
			return node
		}
	}
	t.Fatalf("no node is %s", addr)
	return nil
}

// An INCR whose reply is lost, or late, may have been executed. If it were sent again, it would count twice. The caller is told.
func TestALostReplyIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			started := shared(t, kind)
			cfg, ctx := config(started), testenv.Context(t)
			var proxies []*faultproxy.Proxy
			var rules []string
			for _, node := range started.Nodes {
				proxy := faultproxy.New(faultproxy.TCP(node.Addr))
				t.Cleanup(proxy.Close)
				addr, err := proxy.Listen()
				if err != nil {
					t.Fatal(err)
				}
				proxies, rules = append(proxies, proxy), append(rules, node.Addr+"="+addr)
			}
			var err error
			if cfg.Map, err = topology.ParseAddrMap(rules); err != nil {
				t.Fatal(err)
			}
			r := open(t, cfg)
			if err := r.Master.Set(ctx, "lost", 0, 0).Err(); err != nil {
				t.Fatal(err)
			}
			for _, proxy := range proxies {
				proxy.LoseReply(func(c faultproxy.Chunk) bool { return bytes.Contains(c.Data, []byte("\r\nincr\r\n")) }, nil)
			}
			names := func(err error) bool {
				return err != nil && slices.ContainsFunc(slices.Concat(started.Nodes, started.Sentinels), func(n *servers.Node) bool {
					return strings.Contains(err.Error(), n.Addr)
				})
			}
			if err := r.Master.Incr(ctx, "lost").Err(); !names(err) {
				t.Errorf("the reply was lost, and the error is %v, want one that names a server", err)
			}
			if got, err := r.Master.Get(ctx, "lost").Result(); got != "1" {
				t.Errorf("one INCR counted to %q, %v", got, err)
			}
			for _, proxy := range proxies {
				proxy.Delay(func(c faultproxy.Chunk) (late time.Duration) {
					if bytes.Equal(c.Data, []byte(":2\r\n")) { // the reply to the next INCR
						late = 3 * time.Second // a client does not wait for so long
					}
					return late
				})
			}
			if err := r.Master.Incr(ctx, "lost").Err(); !names(err) {
				t.Errorf("the reply was late, and the error is %v, want one that names a server", err)
			}
			for _, proxy := range proxies {
				proxy.Delay(nil)
			}
			if got, err := r.Master.Get(ctx, "lost").Result(); got != "2" {
				t.Errorf("two INCR counted to %q, %v", got, err)
			}
		})
	}
}

// A subscription is at the new master before the old one has learned of a planned failover. Until then the old one publishes no message of
// the new one. Replicas and the nodes of a cluster pass messages on; there, go-redis needs no help.
func TestASubscriptionFollowsAPlannedFailover(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for _, kind := range []topology.Kind{topology.MasterSlave, topology.Sentinel, topology.Cluster} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			started := testenv.Topology(t, string(kind))
			r, ctx := open(t, config(started)), testenv.Context(t)
			const channel = "channel"
			subscription := r.Master.Subscribe(ctx, channel)
			defer subscription.Close()
			messages := subscription.Channel()
			f, err := started.FailOver(ctx, channel)
			if err != nil {
				t.Fatal(err)
			}
			publish := func() bool {
				_ = r.Master.Set(ctx, channel, "x", 0).Err() // some command learns of the new master
				err := f.New.WithClient(func(c *redis.Client) error { return c.Publish(ctx, channel, "x").Err() })
				if err != nil {
					t.Error(err)
				}
				select {
				case <-messages:
					return true
				default:
					return false
				}
			}
			testenv.Eventually(t, "the subscription receives a message of the new master", publish)
			if err := f.Old.HasRole(ctx, "master"); kind == topology.Sentinel && err != nil {
				t.Errorf("it received nothing until %s", err)
			}
		})
	}
}
