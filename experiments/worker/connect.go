package worker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"locklab/lockstrategy"
	"locklab/order"
	"locklab/topology"
)

// connections open what a strategy is built on, from the addresses of its servers. Nothing is open after an error.
var connections = map[string]func(context.Context, Lock, *lockstrategy.Backends) (closeAll func() error, err error){
	lockstrategy.NameRedis: func(ctx context.Context, l Lock, b *lockstrategy.Backends) (func() error, error) {
		servers, err := topology.Open(ctx, topology.Config{Kind: topology.Single, Addrs: l.Addrs})
		if err != nil {
			return nil, err
		}
		b.Redis = servers.Master
		return servers.Close, nil
	},
	lockstrategy.NameRedLock: func(ctx context.Context, l Lock, b *lockstrategy.Backends) (func() error, error) {
		nodes, err := topology.OpenIndependent(ctx, l.Addrs, topology.Access{})
		if err != nil {
			return nil, err
		}
		b.Nodes = nodes.Nodes
		return nodes.Close, nil
	},
	lockstrategy.NameDatabase: func(ctx context.Context, l Lock, b *lockstrategy.Backends) (func() error, error) {
		store, err := order.OpenStore(ctx, order.Config{Database: l.Addrs[0]})
		if err != nil {
			return nil, err
		}
		b.Database = store.DB()
		return store.Close, nil
	},
	lockstrategy.NameZooKeeper: func(_ context.Context, l Lock, b *lockstrategy.Backends) (func() error, error) {
		b.ZooKeeper = l.Addrs // the lock connects by itself
		return func() error { return nil }, nil
	},
	lockstrategy.NameEtcd: func(ctx context.Context, l Lock, b *lockstrategy.Backends) (func() error, error) {
		cluster, err := topology.OpenEtcd(ctx, topology.EtcdConfig{Addrs: l.Addrs})
		if err != nil {
			return nil, err
		}
		b.Etcd = cluster.Client
		return cluster.Close, nil
	},
	lockstrategy.NameMemcached: func(_ context.Context, l Lock, b *lockstrategy.Backends) (func() error, error) {
		b.Request = cmp.Or(l.Request, min(2*time.Second, l.Lease/3)) // as the lock's default
		b.Memcached = memcache.New(l.Addrs...)
		b.Memcached.Timeout = b.Request
		return b.Memcached.Close, nil
	},
}

// Connect opens what the lock is built on. closeAll closes it; the lock is closed before.
func (l Lock) Connect(ctx context.Context) (b lockstrategy.Backends, closeAll func() error, err error) {
	connect, known := connections[l.Strategy]
	if !known {
		return b, nil, fmt.Errorf("no servers keep the locks of the strategy %q", l.Strategy)
	}
	b.Lease, b.Request = l.Lease, l.Request
	closeAll, err = connect(ctx, l, &b)
	return b, closeAll, err
}
