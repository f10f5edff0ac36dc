package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/cache"
	"locklab/cache/variants"
	"locklab/shop"
	"locklab/topology"
	"locklab/versions"
)

// addresses are those of each kind of server, as the flags name them.
func (c *serveCommand) addresses(access topology.Access) map[versions.Server]topology.Config {
	all := map[versions.Server]topology.Config{
		versions.Redis: {
			Kind: topology.Kind(c.Topology), Addrs: c.Redis, SentinelMaster: c.SentinelMaster, Access: access,
		},
		versions.RedLockNodes: {Addrs: c.Redlock, Access: access},
		versions.Database:     {Addrs: []string{c.Database}},
	}
	if c.Backends {
		all[versions.ZooKeeper] = topology.Config{Addrs: c.Zookeeper}
		all[versions.Etcd] = topology.Config{Addrs: c.Etcd, User: c.EtcdUser, Access: topology.Access{Password: c.EtcdPassword}}
		all[versions.Memcached] = topology.Config{Addrs: c.Memcached}
	}
	return all
}

// connect connects to each kind of server that a flag names.
func (p *parts) connect(ctx context.Context, c *serveCommand) error {
	given := c.addresses(p.access)
	for _, kind := range versions.Needs(versions.Names()...) {
		if len(given[kind].Addrs) == 0 {
			continue
		}
		servers, err := topology.Connect(ctx, string(kind), given[kind])
		if err == nil {
			p.closers = append(p.closers, servers.Close)
			p.backends.Use(servers.Backend())
			p.servers[kind], err = servers, p.use(ctx, c, servers)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind.Flag(), err)
		}
	}
	return nil
}

// use keeps what the instance needs of servers beside their locks. The database has the orders, the shop and the items.
func (p *parts) use(ctx context.Context, c *serveCommand, servers topology.Servers) error {
	switch s := servers.(type) {
	case *topology.Redis:
		p.redis = s
	case topology.Database:
		p.orders, p.goods, p.backends.Named = s.Thinking(c.OrderThink), shop.New(s.DB(), c.OrderThink), s.String()
		_, items := cache.NewDatabase(ctx, s.DB(), 0)
		return errors.Join(p.goods.CreateTables(ctx), items) // found now, and not by the first client
	}
	return nil
}

// asked are the servers of Redis that say how they are set up.
func asked(servers topology.Servers) []redis.UniversalClient {
	switch s := servers.(type) {
	case *topology.Redis:
		return []redis.UniversalClient{s.Master}
	case *topology.Independent:
		return s.Nodes
	}
	return nil
}

// addCaches adds the ways to read and write items. Their lock is that of v3.
func (p *parts) addCaches(c *serveCommand, log *slog.Logger) {
	b := variants.Backends{
		Instance: c.Instance, Redis: p.redis.Master, DB: p.orders.DB(), TTL: c.CacheTTL, Query: c.ItemQuery, Log: log,
		Failed: p.outages.Failed,
	}
	if dsn, is := strings.CutPrefix(c.Database, "mysql:"); is {
		b.MySQL = dsn
	}
	for _, v := range p.versions {
		if v.Name == "v3" {
			b.Lock = v.Lock.Within(c.Wait)
		}
	}
	p.caches = variants.New(b)
	p.closers = append(p.closers, p.caches.Close)
}
