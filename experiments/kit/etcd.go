package kit

import (
	"context"
	"fmt"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"locklab/experiments"
	"locklab/lockstrategy"
	"locklab/stack"
	"locklab/topology"
)

// Etcd is a cluster of three servers.
type Etcd struct {
	*experiments.Trial
	Members []*stack.Member
	Leader  *stack.Member

	cluster *stack.Etcd
}

// StartEtcd starts a cluster and finds its leader.
func StartEtcd(ctx context.Context, t *experiments.Trial) *Etcd {
	cluster, err := t.Stack.Etcd(ctx, 3)
	t.Must(err)
	x := &Etcd{Trial: t, Members: cluster.Members, cluster: cluster}
	x.FindLeader(ctx)
	return x
}

// FindLeader waits until a member leads, and notes which.
func (x *Etcd) FindLeader(ctx context.Context) {
	leader, err := x.cluster.Leader(ctx)
	x.Must(err)
	x.Leader = leader
	x.Note(leader.Name, "it leads")
}

// connect opens a client that knows some of the members.
func (x *Etcd) connect(ctx context.Context, members ...*stack.Member) *clientv3.Client {
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.Addr)
	}
	opened, err := topology.OpenEtcd(ctx, topology.EtcdConfig{Addrs: addrs})
	x.Must(err)
	x.Cleanup(opened.Close)
	return opened.Client
}

// NewClient returns a client of the lock on etcd that knows some of the members.
func (x *Etcd) NewClient(ctx context.Context, name string, lease time.Duration, members ...*stack.Member) *Client {
	return Open(x.Trial, name, lockstrategy.NameEtcd, lockstrategy.Backends{Etcd: x.connect(ctx, members...), Lease: lease})
}

// Client implements [Electing].
func (x *Etcd) Client(ctx context.Context, name string, lease time.Duration, ofLeader bool) *Client {
	if ofLeader {
		return x.NewClient(ctx, name, lease, x.Leader)
	}
	return x.NewClient(ctx, name, lease, x.Members...)
}

// AwaitQueue waits until n callers are in the queue of the lock, its holder among them.
func (x *Etcd) AwaitQueue(ctx context.Context, n int) {
	client := x.connect(ctx, x.Members...)
	x.Must(stack.Until(ctx, func(ctx context.Context) error {
		queue, err := client.Get(ctx, "locklab/"+url.PathEscape(LockKey)+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err == nil && queue.Count != int64(n) {
			err = fmt.Errorf("%d callers are in the queue, not %d", queue.Count, n)
		}
		return err
	}))
}

// KillLeader ends the leader immediately.
func (x *Etcd) KillLeader() { Kill(x.Trial, x.Leader) }
