package kit

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/experiments"
	"locklab/lockstrategy"
	"locklab/stack"
)

// ZooKeeper is an ensemble of three servers.
type ZooKeeper struct {
	*experiments.Trial
	Nodes  []*stack.ZooKeeperNode
	Leader *stack.ZooKeeperNode
}

// StartZooKeeper starts an ensemble and finds its leader.
func StartZooKeeper(ctx context.Context, t *experiments.Trial) *ZooKeeper {
	nodes, err := t.Stack.ZooKeeper(ctx, 3)
	t.Must(err)
	x := &ZooKeeper{Trial: t, Nodes: nodes}
	x.FindLeader(ctx)
	return x
}

// FindLeader waits until a server leads, and notes which.
func (x *ZooKeeper) FindLeader(ctx context.Context) {
	leader, err := stack.ZooKeeperLeader(ctx, x.Nodes)
	x.Must(err)
	x.Leader = leader
	x.Note(leader.Name, "it leads")
}

// NewClient returns a client of the ZooKeeper lock that knows some of the servers. lease is the timeout of its session.
func (x *ZooKeeper) NewClient(name string, lease time.Duration, nodes ...*stack.ZooKeeperNode) *Client {
	var addrs []string
	for _, node := range nodes {
		addrs = append(addrs, node.Addr)
	}
	return Open(x.Trial, name, lockstrategy.NameZooKeeper, lockstrategy.Backends{
		ZooKeeper: addrs, Lease: lease, Request: lease / 3, // longer than an election
	})
}

// Client implements [Electing].
func (x *ZooKeeper) Client(_ context.Context, name string, lease time.Duration, ofLeader bool) *Client {
	if ofLeader {
		return x.NewClient(name, lease, x.Leader)
	}
	return x.NewClient(name, lease, x.Nodes...)
}

// AwaitQueue waits until n callers are in the queue of the lock, its holder among them.
func (x *ZooKeeper) AwaitQueue(ctx context.Context, n int) {
	conn, events, err := zk.Connect([]string{x.Leader.Addr}, time.Minute, zk.WithLogInfo(false))
	x.Must(err)
	defer func() {
		conn.Close()
		for range events { // until its goroutines have ended
			continue
		}
	}()
	x.Must(stack.Until(ctx, func(context.Context) error {
		names, _, err := conn.Children("/locklab/" + LockKey)
		if err == nil && len(names) != n {
			err = fmt.Errorf("%d callers are in the queue, not %d", len(names), n)
		}
		return err
	}))
}

// KillLeader ends the leader immediately.
func (x *ZooKeeper) KillLeader() { Kill(x.Trial, x.Leader) }
