package peer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"locklab/lockstrategy"
	"locklab/order"
	"locklab/topology"
)

const (
	bare        = "-bare"          // ends the name of a lock without its cohort
	connects    = 10 * time.Second // until a server must have answered
	connections = 64               // of a process, as in the app
)

// openBackend opens v5, v6, v7 or v8, each with its defaults and the app's own client. With the ending -bare it is without the cohort.
func openBackend(name, addr string) (Lock, func() error, error) {
	version, isBare := strings.CutSuffix(name, bare)
	name, known := map[string]string{
		"v5": lockstrategy.NameDatabase, "v6": lockstrategy.NameZooKeeper, "v7": lockstrategy.NameEtcd, "v8": lockstrategy.NameMemcached,
	}[version]
	if !known {
		return nil, nil, fmt.Errorf("no lock %q", version)
	}
	ctx, cancel := context.WithTimeout(context.Background(), connects)
	defer cancel()
	servers, disconnect, err := connect(ctx, name, addr)
	if err != nil {
		return nil, nil, err
	}
	opened, closeLock, err := open(name, servers, isBare)
	if err != nil {
		_ = disconnect()
		return nil, nil, err
	}
	return strategy(opened), func() error {
		_ = closeLock()
		return disconnect()
	}, nil
}

// connect opens the client of a strategy, if it does not open one itself.
func connect(ctx context.Context, name, addr string) (b lockstrategy.Backends, disconnect func() error, err error) {
	disconnect = func() error { return nil }
	switch name {
	case lockstrategy.NameDatabase:
		store, err := order.OpenStore(ctx, order.Config{Database: "mysql:" + addr})
		if err != nil {
			return b, nil, err
		}
		b.Database, disconnect = store.DB(), store.Close
	case lockstrategy.NameZooKeeper:
		b.ZooKeeper = []string{addr}
	case lockstrategy.NameEtcd:
		e, err := topology.OpenEtcd(ctx, topology.EtcdConfig{Addrs: []string{addr}})
		if err != nil {
			return b, nil, err
		}
		b.Etcd, disconnect = e.Client, e.Close
	case lockstrategy.NameMemcached:
		b.Memcached = memcache.New(addr)
		b.Memcached.MaxIdleConns = connections
		disconnect = b.Memcached.Close
	}
	return b, disconnect, nil
}

// open opens a strategy behind its cohort, or bare.
func open(name string, b lockstrategy.Backends, isBare bool) (lockstrategy.Strategy, func() error, error) {
	if !isBare {
		o, err := lockstrategy.Open(name, b)
		if err != nil {
			return nil, nil, err
		}
		return o, o.Close, nil
	}
	switch name {
	case lockstrategy.NameRedis:
		r, err := lockstrategy.NewRedis(b.Redis, lockstrategy.Timing{})
		return r, r.Close, err
	case lockstrategy.NameRedLock:
		r, err := lockstrategy.NewRedLock(b.Nodes, lockstrategy.Timing{})
		return r, r.Close, err
	case lockstrategy.NameDatabase:
		d, err := lockstrategy.NewDatabase(b.Database, lockstrategy.DatabaseConfig{})
		return d, d.Close, err
	case lockstrategy.NameZooKeeper:
		z, err := lockstrategy.NewZooKeeper(b.ZooKeeper, lockstrategy.ZooKeeperConfig{})
		return z, z.Close, err
	case lockstrategy.NameEtcd:
		e, err := lockstrategy.NewEtcd(b.Etcd, lockstrategy.Timing{})
		return e, e.Close, err
	}
	m, err := lockstrategy.NewMemcached(b.Memcached, lockstrategy.Timing{})
	return m, m.Close, err
}
