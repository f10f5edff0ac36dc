package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9"

	"locklab/internal/database"
	"locklab/lab/servers"
	"locklab/order"
	"locklab/systems/cache"
	"locklab/systems/cache/variants"
	"locklab/systems/shop"
	"locklab/topology"
	"locklab/versions"
)

// addressFlags has a flag for each of [servers.Backends], such as --etcd.
type addressFlags struct{ kong.Plugins }

func newAddressFlags() addressFlags {
	var fields []reflect.StructField
	for _, kind := range servers.Backends() {
		help := fmt.Sprintf("%s Required for %s (default: none).", kind.Flag, strings.Join(versionsOn(kind), ", "))
		fields = append(fields, reflect.StructField{
			Name: fieldOf(kind.Name), Type: reflect.TypeFor[[]string](),
			Tag: reflect.StructTag(fmt.Sprintf(`placeholder:"HOST:PORT" help:%q`, help)),
		})
	}
	return addressFlags{kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}}
}

func fieldOf(kind string) string { return strings.ToUpper(kind[:1]) + kind[1:] }

// of are the addresses of a kind.
func (f addressFlags) of(kind string) []string {
	if len(f.Plugins) == 0 {
		return nil
	}
	return reflect.ValueOf(f.Plugins[0]).Elem().FieldByName(fieldOf(kind)).Interface().([]string)
}

func (f addressFlags) validate() error {
	for _, kind := range servers.Backends() {
		if addrs := f.of(kind.Name); len(addrs) > 0 {
			if err := validateAddresses("--"+kind.Name, addrs); err != nil {
				return err
			}
		}
	}
	return nil
}

// versionsOn are the names of the versions with a lock on a kind of server.
func versionsOn(kind servers.Kind) (names []string) {
	for _, v := range versions.All() {
		if v.Server() == kind.Name {
			names = append(names, v.Name)
		}
	}
	return names
}

// backendVars are the flags of all backends, and the versions that need them, for the help.
func backendVars() kong.Vars {
	var flags, on []string
	for _, kind := range servers.Backends() {
		flags, on = append(flags, "--"+kind.Name), append(on, versionsOn(kind)...)
	}
	return kong.Vars{"backendFlags": listed(flags), "backendVersions": listed(on)}
}

// listed joins names as a sentence does.
func listed(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

func (c *serveCommand) redisConfig(access topology.Access) topology.Config {
	return topology.Config{Kind: topology.Kind(c.Topology), Addrs: c.Redis, SentinelMaster: c.SentinelMaster, Access: access}
}

// serverConfigs returns how to reach each kind of server, as the flags say.
func (c *serveCommand) serverConfigs(access topology.Access) map[string]topology.Config {
	all := map[string]topology.Config{
		versions.NameRedis:    c.redisConfig(access),
		versions.NameRedLock:  {Addrs: c.Redlock, Access: access},
		versions.NameDatabase: {Addrs: []string{c.Database}},
	}
	if !c.Backends {
		return all
	}
	for _, kind := range servers.Backends() {
		all[kind.Name] = topology.Config{Addrs: c.Addresses.of(kind.Name)}
	}
	return all
}

// connect connects to each kind of server that has addresses.
func (p *parts) connect(ctx context.Context, c *serveCommand) error {
	configs := c.serverConfigs(p.access)
	for _, kind := range versions.RequiredServers(versions.Names()...) {
		if len(configs[kind].Addrs) == 0 {
			continue
		}
		servers, err := topology.Connect(ctx, kind, configs[kind])
		if err == nil {
			p.closers = append(p.closers, servers.Close)
			p.servers[kind] = servers
			err = errors.Join(p.backends.Use(kind, servers.Backend()), p.openStores(ctx, c, servers))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", "--"+kind, err)
		}
	}
	return nil
}

// openStores opens the stores that an instance keeps in servers besides its locks: the counter is in Redis; orders, shop and items are in
// the database.
func (p *parts) openStores(ctx context.Context, c *serveCommand, servers topology.Servers) error {
	switch s := servers.(type) {
	case *topology.Redis:
		p.redis = s
	case topology.Database:
		orders, err := order.NewStore(ctx, s.Database)
		if err != nil {
			return err
		}
		p.orders, p.shopStore, p.backends.Named = orders.WithThinkTime(c.OrderThink), shop.New(s.DB, c.OrderThink), s.Name
		_, items := cache.NewDatabase(ctx, s.DB, 0)
		return errors.Join(p.shopStore.CreateTables(ctx), items) // fail at the start, not at the first request
	}
	return nil
}

// redisClients returns the clients of the Redis servers whose settings the preflight checks read.
func redisClients(servers topology.Servers) []redis.UniversalClient {
	switch s := servers.(type) {
	case *topology.Redis:
		return []redis.UniversalClient{s.Master}
	case *topology.Independent:
		return s.Nodes
	}
	return nil
}

// addCaches adds the cache variants. They use the lock of v3.
func (p *parts) addCaches(c *serveCommand, log *slog.Logger) {
	b := variants.Backends{
		Instance: c.Instance, Redis: p.redis.Master, DB: p.orders.DB, TTL: c.CacheTTL, Query: c.ItemQuery, Log: log,
		Failed: p.outages.ReportFailure, MySQL: database.MySQL(c.Database),
	}
	for _, v := range p.versions {
		if v.Name == "v3" {
			b.Lock = v.Lock.Within(c.Wait)
		}
	}
	p.caches = variants.New(b)
	p.closers = append(p.closers, p.caches.Close)
}
