package topology_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/internal/replies"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/topology"
)

// A server of a cluster does not tell its host, and other servers have its port at this machine. The client uses the host that it asked.
func TestAServerThatDoesNotTellItsHostIsWhereItWasAsked(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	for _, endpoint := range []string{"ip", "hostname", "unknown-endpoint"} { // it tells "", "?" and null
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			ctx, other := testenv.Context(t), startRedis(t)
			_, port, _ := net.SplitHostPort(other.Addr)
			node := loneCluster(t, "--cluster-announce-port", port)
			preferEndpoints(t, endpoint, node)
			asked := net.JoinHostPort("127.0.0.2", port)
			relay(t, asked, node)
			r := open(t, topology.Config{Kind: topology.Cluster, Addrs: []string{asked}})
			for range 10 {
				if err := r.Master.Incr(ctx, "key").Err(); err != nil {
					t.Error(err)
				}
			}
			if n := r.Replica().Get(ctx, "key").Val(); n != "10" {
				t.Errorf("ten commands counted to %q", n)
			}
			wantEmpty(t, other)
		})
	}
}

// A redirection without a host leads to the host that was asked, after the slot has moved and while it moves. One to a server without a
// name leads nowhere. The client finds that server in its next view.
func TestARedirectionWithoutAHostIsFollowed(t *testing.T) {
	t.Parallel()
	for endpoint, codes := range map[string][]string{"unknown-endpoint": {"ASK", "MOVED"}, "hostname": {"MOVED"}} {
		t.Run(endpoint, func(t *testing.T) {
			t.Parallel()
			started := testenv.Topology(t, string(topology.Cluster))
			r, ctx := open(t, config(started)), testenv.Context(t)
			if err := r.Master.Incr(ctx, "key").Err(); err != nil {
				t.Fatal(err)
			}
			move := movingSlot(t, started, "key")
			preferEndpoints(t, endpoint, started.Nodes...)
			if _, err := move.Keys(ctx); err != nil {
				t.Fatal(err)
			}
			for i, code := range codes {
				if code == "MOVED" {
					if err := move.End(ctx); err != nil {
						t.Fatal(err)
					}
				}
				if n, err := r.Master.Incr(ctx, "key").Result(); err != nil || n != int64(i)+2 {
					t.Errorf("after %s the counter is %d (%v), want %d", code, n, err, i+2)
				}
				if refused(started, code) == 0 {
					t.Errorf("no server has replied %s", code)
				}
			}
		})
	}
}

// A master ends, and another server listens at its address: one without a cluster, the master of another one, or the same one without its
// data and its id. Nothing is written there, and the client goes on when a replica has taken over.
func TestAServerThatIsNotOfTheClusterIsNotUsed(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	for name, start := range map[string]func(t *testing.T) *servers.Node{
		"no cluster":      func(t *testing.T) *servers.Node { return startRedis(t, unfollowed...) },
		"another cluster": func(t *testing.T) *servers.Node { return loneCluster(t, unfollowed...) },
		"without slots":   func(t *testing.T) *servers.Node { return emptyCluster(t, unfollowed...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := testenv.Topology(t, string(topology.Cluster))
			r, ctx := open(t, config(started)), testenv.Context(t)
			if err := r.Master.Set(ctx, "key", 100, 0).Err(); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, "the replica has it", func() bool { return r.Replica().Get(ctx, "key").Val() == "100" })
			other, master := start(t), masterOf(t, started, r)
			master.Kill()
			relay(t, master.Addr, other)
			testenv.Eventually(t, "a replica takes over", func() bool {
				n, err := r.Master.Incr(ctx, "key").Result()
				if err == nil && n < 100 {
					t.Errorf("the counter is %d: another server has answered", n)
				}
				return err == nil
			})
			wantEmpty(t, other)
		})
	}
}

// All data of a cluster is lost, with the ids of its servers, and it is set up again. The client finds the new cluster.
func TestANewClusterAtTheSameAddressIsFound(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node, ctx := loneCluster(t), testenv.Context(t)
	r := open(t, topology.Config{Kind: topology.Cluster, Addrs: []string{node.Addr}})
	if err := r.Master.Set(ctx, "key", 100, 0).Err(); err != nil {
		t.Fatal(err)
	}
	do(t, node, "FLUSHALL")
	do(t, node, "CLUSTER", "RESET", "HARD")
	do(t, node, "CLIENT", "KILL", "TYPE", "normal")
	if err := r.Master.Incr(ctx, "key").Err(); err == nil || replies.MayHaveRun(err) {
		t.Errorf("it has no slots and a new id, and an INCR gets %v", err)
	}
	takeAllSlots(t, node)
	testenv.Eventually(t, "the client writes again", func() bool { return r.Master.Incr(ctx, "key").Err() == nil })
}

// A cluster is scaled out. The new master has no slots yet while its first one moves there, and the client uses it all the same.
func TestANewMasterOfTheClusterIsUsed(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	node, ctx := loneCluster(t), testenv.Context(t)
	r := open(t, topology.Config{Kind: topology.Cluster, Addrs: []string{node.Addr}})
	newer := emptyCluster(t)
	host, port, _ := net.SplitHostPort(newer.Addr)
	do(t, node, "CLUSTER", "MEET", host, port, busOf(t, newer))
	var ids [2]string
	testenv.Eventually(t, "they know each other and take commands", func() bool {
		for i, n := range []*servers.Node{node, newer} {
			err := n.WithClient(func(c *redis.Client) error {
				ids[i] = c.Do(ctx, "CLUSTER", "MYID").Val().(string)
				if known, up := c.ClusterNodes(ctx).Val(), c.ClusterInfo(ctx).Val(); strings.Count(known, "\n") < 2 ||
					strings.Contains(known, "handshake") || !strings.Contains(up, "cluster_state:ok") {
					return errors.New("not yet")
				}
				return nil
			})
			if err != nil {
				return false
			}
		}
		return true
	})
	slot := r.Master.ClusterKeySlot(ctx, "key").Val()
	do(t, newer, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
	do(t, node, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
	if n, err := r.Master.Incr(ctx, "key").Result(); n != 1 || err != nil {
		t.Errorf("while the slot moves the counter is %d, %v", n, err)
	}
	do(t, newer, "CLUSTER", "SETSLOT", slot, "NODE", ids[1])
	do(t, node, "CLUSTER", "SETSLOT", slot, "NODE", ids[1])
	if n, err := r.Master.Incr(ctx, "key").Result(); n != 2 || err != nil {
		t.Errorf("after it has moved the counter is %d, %v", n, err)
	}
}

// busOf is the port at which a server of a cluster talks to the others.
func busOf(t *testing.T, node *servers.Node) (port string) {
	t.Helper()
	err := node.WithClient(func(c *redis.Client) error {
		listed := c.ClusterNodes(t.Context()).Val() // ID HOST:PORT@BUS FLAGS …
		_, rest, _ := strings.Cut(listed, "@")
		port, _, _ = strings.Cut(strings.Fields(rest)[0], ",")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// unfollowed are settings of a server that replicates to nobody. A replica of the one that was at its address before would take its data.
var unfollowed = []string{"--rename-command", "PSYNC", "", "--rename-command", "SYNC", ""}

func startRedis(t *testing.T, settings ...string) *servers.Node {
	t.Helper()
	node, err := testenv.Stack(t).Redis(testenv.Context(t), "other", true, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// emptyCluster starts a server with a cluster of its own, without slots.
func emptyCluster(t *testing.T, settings ...string) *servers.Node {
	t.Helper()
	_, bus, _ := net.SplitHostPort(testenv.FreeAddr(t))
	return startRedis(t, append([]string{"--cluster-enabled", "yes", "--cluster-port", bus}, settings...)...)
}

// loneCluster starts a cluster of one server.
func loneCluster(t *testing.T, settings ...string) *servers.Node {
	t.Helper()
	node := emptyCluster(t, settings...)
	takeAllSlots(t, node)
	return node
}

func takeAllSlots(t *testing.T, node *servers.Node) {
	t.Helper()
	do(t, node, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	testenv.Eventually(t, "the cluster is up", func() bool {
		return errors.Is(node.WithClient(func(c *redis.Client) error { return c.Get(context.Background(), "key").Err() }), redis.Nil)
	})
}

// preferEndpoints lets servers tell their hosts in another way. Redis has that since version 7.
func preferEndpoints(t *testing.T, endpoint string, nodes ...*servers.Node) {
	t.Helper()
	for _, node := range nodes {
		if err := node.Configure(t.Context(), "cluster-preferred-endpoint-type", endpoint); err != nil {
			testenv.Skip(t, fmt.Sprintf("this Redis cannot tell its servers' %s: %v", endpoint, err))
		}
	}
}

// relay lets an address lead to a server.
func relay(t *testing.T, addr string, to *servers.Node) {
	t.Helper()
	proxy := faultproxy.New(faultproxy.TCP(to.Addr))
	t.Cleanup(proxy.Close)
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Serve(listener)
}

// do sends a command to a server.
func do(t *testing.T, node *servers.Node, command ...any) {
	t.Helper()
	if err := node.WithClient(func(c *redis.Client) error { return c.Do(t.Context(), command...).Err() }); err != nil {
		t.Fatalf("%s: %v", node.Name, err)
	}
}

// wantEmpty checks that nothing was written to a server.
func wantEmpty(t *testing.T, node *servers.Node) {
	t.Helper()
	err := node.WithClient(func(c *redis.Client) error {
		keys, err := c.Keys(t.Context(), "*").Result()
		if len(keys) > 0 {
			t.Errorf("another server has the keys %q", keys)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
