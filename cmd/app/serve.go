package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/handlers"
	"locklab/lockstrategy"
	"locklab/lockstrategy/preflight"
	"locklab/order"
	"locklab/pview"
	"locklab/topology"
	"locklab/versions"
)

// Run serves until ctx ends, then finishes what runs.
func (c *serveCommand) Run(ctx context.Context, std streams) error {
	if err := c.validate(); err != nil {
		return err
	}
	log := c.logger(std.err)
	redis.SetLogger(quiet{log})
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return unavailable(fmt.Errorf("--listen %s: %w", c.Listen, err))
	}
	defer listener.Close()
	if c.Instance == "" {
		_, c.Instance, _ = net.SplitHostPort(listener.Addr().String())
	}

	reach, cancel := context.WithTimeout(ctx, c.StartTimeout)
	defer cancel()
	p, err := c.open(reach)
	defer p.close(log)
	if err := stopped(ctx, err, "it did not serve"); err != nil {
		return err
	}
	log.Info("locklab serves", "url", "http://"+listener.Addr().String(), "instance", c.Instance, "build", build(),
		"versions", strings.Join(p.names(), " "), "redis", p.redis.String(), "database", p.orders.String())
	p.preflight.Log(ctx, log)
	if err := handlers.Serve(ctx, listener, p.handler(c, log), log); err != nil {
		return unavailable(fmt.Errorf("--listen %s: %w", c.Listen, err))
	}
	return nil
}

// parts are what an instance is made of: the only place where they meet.
type parts struct {
	redis     *topology.Redis
	orders    *order.Store
	backends  lockstrategy.Backends
	asks      map[versions.Server]preflight.Ask // of the servers that were given
	checks    []handlers.Check
	preflight *preflight.Monitor
	metrics   *handlers.Metrics
	versions  []handlers.Version
	closers   []func() error // in the order of opening
}

// open connects servers, strategies and scenarios. What it has opened is in parts, also after an error.
func (c *serveCommand) open(ctx context.Context) (*parts, error) {
	p := &parts{metrics: handlers.NewMetrics(), backends: lockstrategy.Backends{Lease: c.Lease}}
	p.asks = make(map[versions.Server]preflight.Ask)
	for _, open := range []func(context.Context, *serveCommand) error{p.openRedis, p.openRedLock, p.openOrders} {
		if err := open(ctx, c); err != nil {
			return p, err
		}
	}
	var locks []preflight.Lock
	for _, v := range versions.All() {
		ask, opened := p.asks[v.Needs]
		if v.Needs != "" && !opened {
			continue
		}
		if err := p.add(v, c); err != nil {
			return p, err
		}
		if opened {
			locks = append(locks, preflight.Lock{Name: v.Name, Ask: ask})
		}
	}
	p.preflight = preflight.NewMonitor(locks...)
	p.preflight.Reports(ctx) // asks now, while the start is bounded
	return p, nil
}

// openRedis connects to the Redis of the counter and of v3's lock.
func (p *parts) openRedis(ctx context.Context, c *serveCommand) (err error) {
	access, err := c.access()
	if err != nil {
		return err
	}
	p.redis, err = topology.Open(ctx, topology.Config{
		Kind: topology.Kind(c.Topology), Addrs: c.Redis, SentinelMaster: c.SentinelMaster, Access: access,
	})
	if err != nil {
		return fmt.Errorf("--redis: %w", err)
	}
	p.backends.Redis = p.redis.Master
	p.asks[versions.Redis] = preflight.Redis(p.redis.Master)
	p.opened(p.redis.String(), p.redis.Ping, p.redis.Close)
	return nil
}

// openOrders opens the database.
func (p *parts) openOrders(ctx context.Context, c *serveCommand) (err error) {
	if p.orders, err = order.OpenStore(ctx, order.Config{Database: c.Database, Think: c.OrderThink}); err != nil {
		return fmt.Errorf("--database: %w", err)
	}
	p.opened(p.orders.String(), p.orders.Ping, p.orders.Close)
	return nil
}

// openRedLock connects to the independent nodes, if there are any.
func (p *parts) openRedLock(ctx context.Context, c *serveCommand) error {
	if len(c.Redlock) == 0 {
		return nil
	}
	access, err := c.access()
	if err != nil {
		return err
	}
	nodes, err := topology.OpenIndependent(ctx, c.Redlock, access)
	if err != nil {
		return fmt.Errorf("--redlock: %w", err)
	}
	p.backends.Nodes = nodes.Nodes
	p.asks[versions.RedLockNodes] = preflight.RedLock(nodes.Nodes)
	p.opened("redlock", nodes.Ping, nodes.Close)
	return nil
}

// opened adds servers to those that /readyz asks, and that are closed at the end.
func (p *parts) opened(name string, ping func(context.Context) error, closer func() error) {
	p.checks = append(p.checks, handlers.Check{Name: name, Ping: ping})
	p.closers = append(p.closers, closer)
}

// access is how to reach the Redis servers.
func (c *serveCommand) access() (topology.Access, error) {
	addrMap, err := topology.ParseAddrMap(c.AddrMap)
	return topology.Access{Password: c.RedisPassword, Map: addrMap}, err
}

// add opens a version's strategy and puts the guard around it.
func (p *parts) add(v versions.Version, c *serveCommand) error {
	if v.Open == nil {
		p.versions = append(p.versions, handlers.Version{Version: v})
		return nil
	}
	opened, err := v.Open(p.backends)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, opened.Close)
	if opened.Cohort != nil {
		p.metrics.Queue(v.Name, opened.Cohort.Waiting)
	}
	guard := lockstrategy.Guard{Strategy: opened, Wait: c.Wait, Observer: p.metrics.Lock(v.Name)}
	p.versions = append(p.versions, handlers.Version{Version: v, Lock: guard})
	return nil
}

func (p *parts) handler(c *serveCommand, log *slog.Logger) http.Handler {
	return handlers.New(handlers.Config{
		Instance: c.Instance, Topology: c.Topology, Build: build(), Versions: p.versions,
		Views: pview.NewCounter(p.redis.Master, p.redis.Replica), Orders: p.orders,
		Checks: p.checks, Preflight: p.preflight.Reports, Metrics: p.metrics, AdminToken: c.AdminToken, Log: log,
	})
}

func (p *parts) names() (names []string) {
	for _, v := range p.versions {
		names = append(names, v.Name)
	}
	return names
}

// close closes the parts, the last opened first.
func (p *parts) close(log *slog.Logger) {
	for _, closer := range slices.Backward(p.closers) {
		if err := closer(); err != nil {
			log.Warn("close", "error", err)
		}
	}
}

// quiet writes go-redis's own log, which has no levels, as debug lines.
type quiet struct{ log *slog.Logger }

// Printf logs a line of go-redis.
func (q quiet) Printf(ctx context.Context, format string, v ...any) {
	q.log.DebugContext(ctx, fmt.Sprintf(format, v...))
}
