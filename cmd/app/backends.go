package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"locklab/cache/variants"
	"locklab/handlers"
	"locklab/lockstrategy"
	"locklab/lockstrategy/preflight"
	"locklab/order"
	"locklab/topology"
	"locklab/versions"
)

// openers connect the instance to its servers, one kind each. An opener whose flag names no server does nothing.
func (p *parts) openers() []func(context.Context, *serveCommand) error {
	return []func(context.Context, *serveCommand) error{
		p.openRedis, p.openRedLock, p.openOrders, p.openZooKeeper, p.openEtcd, p.openMemcached,
	}
}

// A kind of server that keeps locks.
type lockServer struct {
	where string          // its addresses
	ask   preflight.Check // nil: the lock is tried
}

func (p *parts) openRedis(ctx context.Context, c *serveCommand) (err error) {
	p.redis, err = topology.Open(ctx, topology.Config{
		Kind: topology.Kind(c.Topology), Addrs: c.Redis, SentinelMaster: c.SentinelMaster, Access: p.access,
	})
	if err != nil {
		return fmt.Errorf("--redis: %w", err)
	}
	p.backends.Redis = p.redis.Master
	p.lockServers[versions.Redis] = lockServer{p.redis.String(), preflight.Redis(p.redis.Master, c.Instance)}
	p.opened(p.redis.String(), p.redis.Ping, p.redis.Close)
	return nil
}

// openRedLock connects to the independent nodes, if there are any.
func (p *parts) openRedLock(ctx context.Context, c *serveCommand) error {
	if len(c.Redlock) == 0 {
		return nil
	}
	nodes, err := topology.OpenIndependent(ctx, c.Redlock, p.access)
	if err != nil {
		return fmt.Errorf("--redlock: %w", err)
	}
	p.backends.Nodes = nodes.Nodes
	p.lockServers[versions.RedLockNodes] = lockServer{"redlock", preflight.RedLock(nodes.Nodes, c.Instance)}
	p.opened("redlock", nodes.Ping, nodes.Close)
	return nil
}

// openOrders connects to the database, which keeps the orders and the locks of v5.
func (p *parts) openOrders(ctx context.Context, c *serveCommand) (err error) {
	if p.orders, err = order.OpenStore(ctx, order.Config{Database: c.Database, Think: c.OrderThink}); err != nil {
		return fmt.Errorf("--database: %w", err)
	}
	p.backends.Database, p.backends.Named = p.orders.DB(), p.orders.String()
	p.lockServers[versions.Database] = lockServer{where: p.orders.String()}
	p.opened(p.orders.String(), p.orders.Ping, p.orders.Close)
	return nil
}

// openZooKeeper reaches the ensemble of v6, if there is one. Its connection is for /readyz: the lock has one of its own.
func (p *parts) openZooKeeper(ctx context.Context, c *serveCommand) error {
	if len(c.Zookeeper) == 0 {
		return nil
	}
	z, err := lockstrategy.NewZooKeeper(c.Zookeeper, lockstrategy.ZooKeeperConfig{Lease: c.Lease})
	if err != nil {
		return fmt.Errorf("--zookeeper: %w", err)
	}
	where := "zookeeper " + strings.Join(c.Zookeeper, ",")
	p.backends.ZooKeeper = c.Zookeeper
	p.lockServers[versions.ZooKeeper] = lockServer{where: where}
	p.opened(where, z.Ping, z.Close)
	for {
		if err = z.Ping(ctx); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("--zookeeper: %w", err)
		}
	}
}

// openMemcached connects to the servers of v8, if there are any.
func (p *parts) openMemcached(ctx context.Context, c *serveCommand) error {
	if len(c.Memcached) == 0 {
		return nil
	}
	servers, err := topology.OpenMemcached(ctx, c.Memcached)
	if err != nil {
		return fmt.Errorf("--memcached: %w", err)
	}
	p.backends.Memcached = servers.Client
	p.lockServers[versions.Memcached] = lockServer{where: servers.String()}
	p.opened(servers.String(), servers.Ping, servers.Client.Close)
	return nil
}

// openEtcd connects to etcd, if there is one.
func (p *parts) openEtcd(ctx context.Context, c *serveCommand) error {
	if len(c.Etcd) == 0 {
		return nil
	}
	e, err := topology.OpenEtcd(ctx, topology.EtcdConfig{Addrs: c.Etcd, User: c.EtcdUser, Password: c.EtcdPassword})
	if err != nil {
		return fmt.Errorf("--etcd: %w", err)
	}
	p.backends.Etcd = e.Client
	p.lockServers[versions.Etcd] = lockServer{where: "etcd " + strings.Join(c.Etcd, ",")}
	p.opened("etcd", e.Ping, e.Close)
	return nil
}

// opened adds servers to those that /readyz asks, and that are closed at the end.
func (p *parts) opened(name string, ping func(context.Context) error, closer func() error) {
	p.checks = append(p.checks, handlers.Check{Name: name, Ping: ping})
	p.closers = append(p.closers, closer)
}

// addCaches adds the ways to read and write items. Their lock is that of v3.
func (p *parts) addCaches(c *serveCommand, log *slog.Logger) {
	b := variants.Backends{
		Instance: c.Instance, Redis: p.redis.Master, DB: p.orders.DB(), TTL: c.CacheTTL, Query: c.ItemQuery, Log: log,
	}
	if dsn, is := strings.CutPrefix(c.Database, "mysql:"); is {
		b.MySQL = dsn
	}
	for _, v := range p.versions {
		if v.Name == "v3" {
			b.Lock = v.Lock
		}
	}
	p.caches = variants.New(b)
	p.closers = append(p.closers, p.caches.Close)
}
