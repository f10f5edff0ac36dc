package topology_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/topology"
)

// both is a script of two keys. It counts how often it was executed.
var both = redis.NewScript("redis.call('set', KEYS[2], 1) return redis.call('incr', KEYS[1])")

// A command that the servers of a cluster refuse for now is sent again, until one has executed it.
func TestACommandOutlastsWhatAClusterRefusesForNow(t *testing.T) {
	t.Parallel()
	started := testenv.Topology(t, string(topology.Cluster))
	r, ctx := open(t, config(started)), testenv.Context(t)
	for _, c := range []struct {
		code   string
		refuse func(t *testing.T, keys []string) (accept func() error)
	}{
		{"TRYAGAIN", func(t *testing.T, keys []string) func() error {
			move := movingSlot(t, started, keys[0])
			return func() error {
				_, err := move.Keys(ctx)
				if err == nil {
					err = move.End(ctx)
				}
				return err
			}
		}},
		{"CLUSTERDOWN", func(t *testing.T, keys []string) func() error {
			slot := r.Master.ClusterKeySlot(ctx, keys[0]).Val()
			each(t, started, "CLUSTER", "DELSLOTS", slot)
			return func() error {
				err := started.Nodes[0].WithClient(func(c *redis.Client) error { return c.Do(ctx, "CLUSTER", "ADDSLOTS", slot).Err() })
				if err != nil && strings.Contains(err.Error(), "already busy") { // another master still told of its old slot
					return nil
				}
				return err
			}
		}},
	} {
		t.Run(c.code, func(t *testing.T) {
			keys := []string{"count:{" + c.code + "}", "other:{" + c.code + "}"}
			if err := r.Master.Set(ctx, keys[0], 0, 0).Err(); err != nil {
				t.Fatal(err)
			}
			accept := c.refuse(t, keys)
			before, answer := refused(started, c.code), make(chan error, 1)
			go func() { answer <- both.Run(ctx, r.Master, keys).Err() }()
			testenv.Eventually(t, "the command is refused", func() bool { return refused(started, c.code) > before })
			if err := accept(); err != nil {
				t.Fatal(err)
			}
			if err := <-answer; err != nil {
				t.Error(err)
			}
			if n := r.Master.Get(ctx, keys[0]).Val(); n != "1" {
				t.Errorf("it was executed %s times, want once", n)
			}
		})
	}
}

// refused is how many commands the nodes have refused with an error of this kind.
func refused(started *servers.Topology, code string) (n int64) {
	for _, node := range started.Nodes {
		n += testenv.Refused(context.Background(), node, code)
	}
	return n
}

// movingSlot begins to move the slot of a key.
func movingSlot(t *testing.T, started *servers.Topology, key string) *testenv.SlotMove {
	t.Helper()
	move, err := testenv.MoveSlot(testenv.Context(t), started, key)
	if err != nil {
		t.Fatal(err)
	}
	return move
}

// each sends a command to every node.
func each(t *testing.T, started *servers.Topology, command ...any) {
	t.Helper()
	for _, node := range started.Nodes {
		if err := node.WithClient(func(c *redis.Client) error { return c.Do(t.Context(), command...).Err() }); err != nil {
			t.Fatalf("%s: %v", node.Name, err)
		}
	}
}

// After a promotion the master refuses writes, and answers everything else. The client finds the new master without a restart, and no
// caller sees an error. Both ways to promote lose nothing: the replica has everything when it takes over.
func TestMasterSlaveFindsThePromotedReplica(t *testing.T) {
	t.Parallel()
	for name, promote := range map[string]func(ctx context.Context, master, replica *redis.Client, addr string) error{
		"FAILOVER": func(ctx context.Context, master, _ *redis.Client, addr string) error {
			host, port, _ := strings.Cut(addr, ":")
			err := master.Do(ctx, "FAILOVER", "TO", host, port).Err()
			for ; redis.HasErrorPrefix(err, "FAILOVER target replica is not online") && ctx.Err() == nil; time.Sleep(time.Millisecond) {
				err = master.Do(ctx, "FAILOVER", "TO", host, port).Err() // it has just synchronized, and has not told that yet
			}
			return err
		},
		"by hand": func(ctx context.Context, master, replica *redis.Client, addr string) error {
			host, port, _ := strings.Cut(addr, ":")
			if err := master.Wait(ctx, 3, time.Minute).Err(); err != nil { // the replicas have everything
				return err
			}
			if err := master.ReplicaOf(ctx, host, port).Err(); err != nil { // it accepts no write from now on
				return err
			}
			return replica.ReplicaOf(ctx, "NO", "ONE").Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := testenv.Topology(t, string(topology.MasterSlave))
			r, ctx := open(t, config(started)), testenv.Context(t)
			promoted := started.Nodes[1]
			count := func() int64 {
				n, err := r.Master.Incr(ctx, "key").Result()
				if err != nil {
					t.Fatalf("during the promotion: %v", err)
				}
				return n
			}
			count()
			err := started.Nodes[0].WithClient(func(master *redis.Client) error {
				return promoted.WithClient(func(replica *redis.Client) error { return promote(ctx, master, replica, promoted.Addr) })
			})
			if err != nil {
				t.Fatal(err)
			}
			for last := int64(1); ; last++ {
				if n := count(); n != last+1 {
					t.Fatalf("the counter is %d after %d", n, last)
				}
				if n, err := started.Nodes[0].Info(ctx, "replication", "role"); err == nil && n == "slave" && last > 10 {
					break
				}
			}
			count()
			for range 2 * len(started.Nodes) {
				if got := role(ctx, r.Replica()); got != "slave" {
					t.Errorf("a replica's role is %q", got)
				}
			}
		})
	}
}

// The master dies or hangs, and a replica is promoted by hand. The client finds it without a restart. When the old master goes on, it is a
// second one: no command goes to it, although connections to it are open.
func TestMasterSlaveLeavesALostMaster(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, master *servers.Node){
		"it dies":  func(_ *testing.T, master *servers.Node) { master.Kill() },
		"it hangs": func(t *testing.T, master *servers.Node) { testenv.Pause(t, master) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := testenv.Topology(t, string(topology.MasterSlave))
			r, ctx := open(t, config(started)), testenv.Context(t)
			openConnections(ctx, r.Master, 20)
			master, promoted := started.Nodes[0], started.Nodes[1]
			lose(t, master)
			if err := promoted.WithClient(func(c *redis.Client) error { return c.ReplicaOf(ctx, "NO", "ONE").Err() }); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, "the client writes to the promoted replica", func() bool {
				short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
				defer cancel()
				return r.Master.Set(short, "key", 0, 0).Err() == nil && promoted.WithClient(func(c *redis.Client) error {
					return c.Get(ctx, "key").Err()
				}) == nil
			})
			master.Resume()
			wantAllAt(t, r.Master, promoted)
		})
	}
}

// The master cannot be dialed any more, and a replica was promoted. Connections to the old master still work, and no command uses them.
func TestMasterSlaveHasOneMaster(t *testing.T) {
	t.Parallel()
	started := testenv.Topology(t, string(topology.MasterSlave))
	cfg, ctx := config(started), testenv.Context(t)
	master, promoted := started.Nodes[0], started.Nodes[1]
	relay := faultproxy.New(faultproxy.TCP(master.Addr))
	t.Cleanup(relay.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	relay.Serve(listener)
	if cfg.Map, err = topology.ParseAddrMap([]string{master.Addr + "=" + listener.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	r := open(t, cfg)
	openConnections(ctx, r.Master, 10)
	_ = listener.Close() // connections that are open stay open
	err = promoted.WithClient(func(c *redis.Client) error { return c.ReplicaOf(ctx, "NO", "ONE").Err() })
	if err == nil {
		err = master.WithClient(func(c *redis.Client) error { return endRoleConnections(ctx, c) })
	}
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, "a command goes to the promoted replica", func() bool {
		openConnections(ctx, r.Master, 20) // some of them are dialed
		return r.Master.Set(ctx, "key", 0, 0).Err() == nil && promoted.WithClient(func(c *redis.Client) error {
			return c.Get(ctx, "key").Err()
		}) == nil
	})
	wantAllAt(t, r.Master, promoted)
}

// wantAllAt lets a client count over all of its connections.
func wantAllAt(t *testing.T, client redis.UniversalClient, master *servers.Node) {
	t.Helper()
	ctx := testenv.Context(t)
	const times = 40
	var group errgroup.Group
	for range times {
		group.Go(func() error { return client.Incr(ctx, "counter").Err() })
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	err := master.WithClient(func(c *redis.Client) error {
		if n, err := c.Get(ctx, "counter").Int(); err != nil || n != times {
			t.Errorf("the counter of the master is %d (%v) after %d commands", n, err, times)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// endRoleConnections ends the connections over which a server was asked for its role. go-redis ends them when they were idle for long.
func endRoleConnections(ctx context.Context, c *redis.Client) error {
	list, err := c.ClientList(ctx).Result()
	for line := range strings.Lines(list) {
		if id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " "); strings.Contains(line, " cmd=role ") && err == nil {
			err = c.ClientKillByFilter(ctx, "ID", id).Err()
		}
	}
	return err
}

// openConnections lets a client open so many connections.
func openConnections(ctx context.Context, client redis.UniversalClient, n int) {
	var group errgroup.Group
	for range n {
		group.Go(func() error { return client.BLPop(ctx, 100*time.Millisecond, "empty").Err() })
	}
	_ = group.Wait()
}

// The address of a single Redis leads to another server, after the first one became its replica. Connections to the first stay open, and
// none is used for a write again. No caller sees an error.
func TestASingleAddressLeadsToThePromotedReplica(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	started, ctx := testenv.Topology(t, string(topology.MasterSlave)), testenv.Context(t)
	var at atomic.Value
	at.Store(started.Nodes[0].Addr)
	proxy := faultproxy.New(func(ctx context.Context) (net.Conn, error) { return faultproxy.TCP(at.Load().(string))(ctx) })
	t.Cleanup(proxy.Close)
	addr, err := proxy.Listen()
	if err != nil {
		t.Fatal(err)
	}
	r := open(t, topology.Config{Kind: topology.Single, Addrs: []string{addr}})
	openConnections(ctx, r.Master, 20)
	promoted := started.Nodes[1]
	host, port, _ := strings.Cut(promoted.Addr, ":")
	err = promoted.WithClient(func(c *redis.Client) error { return c.ReplicaOf(ctx, "NO", "ONE").Err() })
	if err == nil {
		err = started.Nodes[0].WithClient(func(c *redis.Client) error { return c.ReplicaOf(ctx, host, port).Err() })
	}
	if err != nil {
		t.Fatal(err)
	}
	at.Store(promoted.Addr)
	for range 30 {
		if err := r.Master.Incr(ctx, "key").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if n := r.Master.Get(ctx, "key").Val(); n != "30" {
		t.Errorf("the counter is %s, want 30", n)
	}
}
