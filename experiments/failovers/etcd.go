package failovers

import (
	"context"
	"fmt"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/stack"
	"locklab/topology"
	"locklab/versions"
)

// StartEtcd starts a cluster of n servers and finds its leader.
func StartEtcd(ctx context.Context, t *experiments.Trial, n int) *Electing[*stack.Member] {
	cluster, err := t.Stack.Etcd(ctx, n)
	t.Must(err)
	return OnEtcd(ctx, t, cluster)
}

// OnEtcd finds the leader of servers that run.
func OnEtcd(ctx context.Context, t *experiments.Trial, cluster *stack.Etcd) *Electing[*stack.Member] {
	x := &Electing[*stack.Member]{Trial: t, Nodes: cluster.Members}
	x.find = func(ctx context.Context, members []*stack.Member) (*stack.Member, error) {
		return (&stack.Etcd{Members: members}).Leader(ctx)
	}
	x.newClient = func(ctx context.Context, name string, lease time.Duration, members []*stack.Member) *clients.Client {
		return clients.Open(t, name, versions.NameEtcd, versions.Backends{Etcd: connectEtcd(ctx, t, members), Expiry: lease})
	}
	x.awaitQueue = func(ctx context.Context, n int) {
		client := connectEtcd(ctx, t, x.Nodes)
		t.Must(stack.Until(ctx, func(ctx context.Context) error {
			queue, err := client.Get(ctx, "locklab/"+url.PathEscape(clients.LockKey)+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
			if err == nil && queue.Count != int64(n) {
				err = fmt.Errorf("%d callers are in the queue, not %d", queue.Count, n)
			}
			return err
		}))
	}
	x.FindLeader(ctx)
	return x
}

func connectEtcd(ctx context.Context, t *experiments.Trial, members []*stack.Member) *clientv3.Client {
	opened, err := topology.OpenEtcd(ctx, topology.EtcdConfig{Addrs: stack.Addrs(members)})
	t.Must(err)
	t.Cleanup(opened.Close)
	return opened.Client
}
