//go:build unix

package servers_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
)

// The dropped direction decides whether a server executes a command, and whether its client gets the reply.
func TestProxyThatDrops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		drop             faultproxy.Direction
		executed, answer bool
	}{
		{"none", 0, true, true},
		{"to the server", faultproxy.ToServer, false, false},
		{"to the client", faultproxy.ToClient, true, false},
		{"both", faultproxy.Both, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.Engines(t, func(t *testing.T, real bool) {
				ctx := testenv.Context(t)
				topology, err := testenv.Stack(t).ProxiedTopology(ctx, "single", real)
				if err != nil {
					t.Fatal(err)
				}
				node := topology.Nodes[0]
				client := dial(t, node.AnnouncedAddr())
				testenv.Eventually(t, "a connection is open", func() bool { return client.Ping(ctx).Err() == nil })
				node.Proxy.Drop(c.drop)
				set := func() error { return client.Set(ctx, "after", "1", 0).Err() }
				err = ask(t, client, set, !c.answer, func() bool { return node.Proxy.Dropped().Bytes > 0 })
				if (err == nil) != c.answer {
					t.Errorf("the answer: %v", err)
				}
				if got := dial(t, node.Addr).Exists(ctx, "after").Val() == 1; got != c.executed {
					t.Errorf("executed: %v, want %v", got, c.executed)
				}
				if got := node.Proxy.Dropped().Bytes > 0; got == c.answer {
					t.Errorf("dropped: %+v", node.Proxy.Dropped())
				}
				newConnection(t, node, c.drop != 0)
				node.Proxy.Mend()
				next := dial(t, node.AnnouncedAddr())
				testenv.Eventually(t, "the proxy passes data on", func() bool { return next.Ping(ctx).Err() == nil })
			})
		})
	}
}

// ask returns the error of a client's request. One that leads nowhere would be waited for, so the client is closed when something was
// dropped: then the request was sent.
func ask(t *testing.T, client *redis.Client, request func() error, nowhere bool, dropped func() bool) error {
	t.Helper()
	answered := make(chan error, 1)
	go func() { answered <- request() }()
	if nowhere {
		testenv.Eventually(t, "something is dropped", dropped)
		client.Close()
	}
	return <-answered
}

// newConnection dials a proxy: when it drops in any direction, the connection leads nowhere.
func newConnection(t *testing.T, node *servers.Node, dropped bool) {
	t.Helper()
	client := dial(t, node.AnnouncedAddr())
	ping := func() error { return client.Ping(testenv.Context(t)).Err() }
	err := ask(t, client, ping, dropped, func() bool { return node.Proxy.Dropped().Connections > 0 })
	if (err == nil) == dropped {
		t.Errorf("a new connection: %v", err)
	}
	if got := node.Proxy.Dropped().Connections > 0; got != dropped {
		t.Errorf("dropped: %+v", node.Proxy.Dropped())
	}
}

// In every topology a proxy can drop what replicas receive, while clients continue. A write then reaches no replica, or only
// replicas that are not cut off.
func TestProxyDropsReplicas(t *testing.T) {
	t.Parallel()
	testenv.Slow(t)
	testenv.Needs(t, testenv.RedisServer)
	for _, c := range []struct {
		kind    string
		kept    int // replicas that are not dropped, the first ones
		replica int // the index in Nodes of the first master's first replica
	}{
		{"master-slave", 0, 1}, {"master-slave", 1, 1}, {"sentinel", 0, 1}, {"cluster", 0, 3},
	} {
		t.Run(fmt.Sprintf("%s, %d kept", c.kind, c.kept), func(t *testing.T) {
			t.Parallel()
			ctx, s := testenv.Context(t), testenv.Stack(t)
			topology, err := s.ProxiedTopology(ctx, c.kind, true)
			if err != nil {
				t.Fatal(err)
			}
			master, followers := topology.Nodes[0], topology.Nodes[c.replica:]
			if c.kind == "cluster" {
				followers = followers[:1]
			}
			master.DropReplicas(followers[c.kept:]...)
			client := dial(t, master.AnnouncedAddr())
			if err := client.Set(ctx, "{06S}", "1", 0).Err(); err != nil { // in the first master's slots
				t.Fatal(err)
			}
			testenv.Eventually(t, "the replicas' bytes are dropped", func() bool { return master.Proxy.Dropped().Bytes > 0 })
			for i, node := range followers {
				has := func() bool {
					n, err := dial(t, node.Addr).DBSize(ctx).Result()
					return err == nil && n == 1
				}
				if i < c.kept {
					testenv.Eventually(t, "a replica that is not dropped has it", has)
				} else if has() {
					t.Errorf("%s has it", node.Name)
				}
			}
		})
	}
}
