package failovers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/servers"
	"locklab/versions"
)

// StartZooKeeper starts an ensemble of n servers and finds its leader. The lease of its clients is the timeout of their sessions.
func StartZooKeeper(ctx context.Context, t *lab.Trial, n int) *Electing[*servers.ZooKeeperNode] {
	nodes, err := t.Stack.ZooKeeper(ctx, n)
	t.Must(err)
	return OnZooKeeper(ctx, t, nodes)
}

// OnZooKeeper finds the leader of servers that run.
func OnZooKeeper(ctx context.Context, t *lab.Trial, nodes []*servers.ZooKeeperNode) *Electing[*servers.ZooKeeperNode] {
	x := &Electing[*servers.ZooKeeperNode]{Trial: t, Nodes: nodes, find: servers.ZooKeeperLeader}
	x.newClient = func(_ context.Context, name string, lease time.Duration, nodes []*servers.ZooKeeperNode) *clients.Client {
		return clients.Open(t, name, versions.NameZooKeeper, versions.Backends{
			ZooKeeper: servers.Addrs(nodes), Expiry: lease, Request: lease / 3, // longer than an election
		})
	}
	x.awaitQueue = func(ctx context.Context, n int) {
		conn, events, err := zk.Connect([]string{x.Leader.Addr}, time.Minute, zk.WithLogInfo(false))
		t.Must(err)
		defer func() {
			conn.Close()
			for range events { // until its goroutines have ended
				continue
			}
		}()
		t.Must(servers.Until(ctx, func(context.Context) error {
			names, _, err := conn.Children("/locklab/" + clients.LockKey)
			if err == nil && len(names) != n {
				err = fmt.Errorf("%d callers are in the queue, not %d", len(names), n)
			}
			return err
		}))
	}
	x.FindLeader(ctx)
	return x
}
