//go:build unix

package stack_test

import (
	"context"
	"fmt"
	"testing"

	"locklab/internal/testenv"
	"locklab/stack"
	"locklab/stack/faultproxy"
)

// What a server does and what its client hears are two things: a table of both, for each way to cut.
func TestProxyThatDrops(t *testing.T) {
	for _, c := range []struct {
		name             string
		cut              faultproxy.Direction
		executed, answer bool
	}{
		{"whole", 0, true, true},
		{"to the server", faultproxy.ToServer, false, false},
		{"to the client", faultproxy.ToClient, true, false},
		{"both", faultproxy.Both, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			testenv.Engines(t, func(t *testing.T, real bool) {
				ctx, s := testenv.Context(t), testenv.Stack(t)
				topology, err := s.ProxiedTopology(ctx, "single", real)
				if err != nil {
					t.Fatal(err)
				}
				node := topology.Nodes[0]
				client := dial(t, node.AnnouncedAddr())
				if err := client.Set(ctx, "before", "1", 0).Err(); err != nil {
					t.Fatal(err)
				}
				node.Proxy.Drop(c.cut)
				short, cancel := context.WithTimeout(ctx, impatient)
				defer cancel()
				if c.answer {
					short = ctx
				}
				if err := client.Set(short, "after", "1", 0).Err(); (err == nil) != c.answer {
					t.Errorf("the answer: %v", err)
				}
				if got := dial(t, node.Addr).Exists(ctx, "after").Val() == 1; got != c.executed {
					t.Errorf("executed: %v, want %v", got, c.executed)
				}
				if got := node.Proxy.Dropped().Bytes > 0; got == c.answer {
					t.Errorf("dropped: %+v", node.Proxy.Dropped())
				}
				newcomer(t, node, c.cut != 0)
				node.Proxy.Mend()
				testenv.Eventually(t, "the link is whole", func() bool { return client.Ping(ctx).Err() == nil })
			})
		})
	}
}

// newcomer dials a link: when it is cut in any direction, it gets nowhere.
func newcomer(t *testing.T, node *stack.Node, cut bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), impatient)
	defer cancel()
	if !cut {
		ctx = t.Context()
	}
	if err := dial(t, node.AnnouncedAddr()).Ping(ctx).Err(); (err == nil) == cut {
		t.Errorf("a new connection: %v", err)
	}
	if got := node.Proxy.Dropped().Connections > 0; got != cut {
		t.Errorf("dropped: %+v", node.Proxy.Dropped())
	}
}

// In every topology the link to the replicas can be cut while clients go on; what is written then is on no replica, or only on those that
// are spared.
func TestReplicationIsCut(t *testing.T) {
	testenv.Needs(t, testenv.RedisServer)
	for _, c := range []struct {
		kind    string
		spared  int // the first so many replicas
		replica int // of the first master: its place among the nodes
	}{
		{"master-slave", 0, 1}, {"master-slave", 1, 1}, {"sentinel", 0, 1}, {"cluster", 0, 3},
	} {
		t.Run(fmt.Sprintf("%s, %d spared", c.kind, c.spared), func(t *testing.T) {
			ctx, s := testenv.Context(t), testenv.Stack(t)
			topology, err := s.ProxiedTopology(ctx, c.kind, true)
			if err != nil {
				t.Fatal(err)
			}
			master, followers := topology.Nodes[0], topology.Nodes[c.replica:]
			if c.kind == "cluster" {
				followers = followers[:1]
			}
			master.Proxy.DropReplicas(followers[c.spared:]...)
			client := dial(t, master.AnnouncedAddr())
			if err := client.Set(ctx, "{06S}", "1", 0).Err(); err != nil { // in the first master's slots
				t.Fatal(err)
			}
			testenv.Eventually(t, "the replicas' bytes get lost", func() bool { return master.Proxy.Dropped().Bytes > 0 })
			for i, node := range followers {
				has := func() bool {
					n, err := dial(t, node.Addr).DBSize(ctx).Result()
					return err == nil && n == 1
				}
				if i < c.spared {
					testenv.Eventually(t, "a replica that is spared has it", has)
				} else if has() {
					t.Errorf("%s has it", node.Name)
				}
			}
		})
	}
}
