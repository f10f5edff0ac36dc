package failovers

import (
	"context"
	"fmt"
	"net/url"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/servers"
	"locklab/topology"
	"locklab/versions"
)

// StartEtcd starts a cluster of n servers and finds its leader.
func StartEtcd(ctx context.Context, t *lab.Trial, n int) *Electing[*servers.Member] {
	cluster, err := t.Stack.Etcd(ctx, n)
	t.Must(err)
	return OnEtcd(ctx, t, cluster)
}

// OnEtcd finds the leader of servers that run.
func OnEtcd(ctx context.Context, t *lab.Trial, cluster *servers.Etcd) *Electing[*servers.Member] {
	x := &Electing[*servers.Member]{Trial: t, Nodes: cluster.Members}
	x.find = func(ctx context.Context, members []*servers.Member) (*servers.Member, error) {
		return (&servers.Etcd{Members: members}).Leader(ctx)
	}
	x.newClient = func(ctx context.Context, name string, lease time.Duration, members []*servers.Member) *clients.Client {
		return clients.Open(t, name, versions.NameEtcd, versions.Backends{Etcd: connectEtcd(ctx, t, members), Expiry: lease})
	}
	x.awaitQueue = func(ctx context.Context, n int) {
		client := connectEtcd(ctx, t, x.Nodes)
		t.Must(servers.Until(ctx, func(ctx context.Context) error {
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

func connectEtcd(ctx context.Context, t *lab.Trial, members []*servers.Member) *clientv3.Client {
	opened, err := topology.OpenEtcd(ctx, servers.Addrs(members))
	t.Must(err)
	t.Cleanup(opened.Close)
	return opened.Client
}
