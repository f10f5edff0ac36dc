package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/handlers"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/pview"
	"locklab/topology"
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
	switch {
	case ctx.Err() != nil:
		return exitError{exitInterrupted, errors.New("stopped before it served")}
	case err != nil:
		return unavailable(err)
	}
	log.Info("locklab serves", "url", "http://"+listener.Addr().String(), "instance", c.Instance, "build", build(),
		"versions", strings.Join(p.names(), " "), "redis", p.redis.String(), "database", p.orders.String())
	p.preflight.log(ctx, log)
	return c.serve(ctx, listener, p.handler(c, log), log)
}

// parts are what an instance is made of: the only place where they meet.
type parts struct {
	redis     *topology.Redis
	nodes     *topology.Independent // nil: no v4
	preflight *lockPreflight
	orders    *order.Store
	metrics   *handlers.Metrics
	versions  []handlers.Version
	closers   []func() error // in the order of opening
}

// open connects topology, strategies and scenarios. What it opened is in parts, also in failure.
func (c *serveCommand) open(ctx context.Context) (*parts, error) {
	p := &parts{metrics: handlers.NewMetrics()}
	access, err := c.access()
	if err != nil {
		return p, err
	}
	p.redis, err = topology.Open(ctx, topology.Config{
		Kind: topology.Kind(c.Topology), Addrs: c.Redis, SentinelMaster: c.SentinelMaster, Access: access,
	})
	if err != nil {
		return p, fmt.Errorf("--redis: %w", err)
	}
	p.closers = append(p.closers, p.redis.Close)
	backends := lockstrategy.Backends{Redis: p.redis.Master, Lease: c.Lease}
	if len(c.Redlock) > 0 {
		if p.nodes, err = topology.OpenIndependent(ctx, c.Redlock, access); err != nil {
			return p, fmt.Errorf("--redlock: %w", err)
		}
		p.closers = append(p.closers, p.nodes.Close)
		backends.Nodes = p.nodes.Nodes
	}
	if p.orders, err = order.OpenStore(ctx, order.Config{Database: c.Database, Think: c.OrderThink}); err != nil {
		return p, fmt.Errorf("--database: %w", err)
	}
	p.closers = append(p.closers, p.orders.Close)
	p.preflight = newPreflight(p)
	p.preflight.current(ctx)
	for _, v := range c.versions() {
		if err := p.add(v, backends, c); err != nil {
			return p, err
		}
	}
	return p, nil
}

// access is how to get at the Redis servers.
func (c *serveCommand) access() (topology.Access, error) {
	addrMap, err := topology.ParseAddrMap(c.AddrMap)
	return topology.Access{Password: c.RedisPassword, Map: addrMap}, err
}

// add opens a version's strategy and puts the guard around it.
func (p *parts) add(v version, backends lockstrategy.Backends, c *serveCommand) error {
	if v.strategy == "" {
		p.versions = append(p.versions, handlers.Version{Name: v.name, Does: v.does})
		return nil
	}
	opened, err := lockstrategy.Open(v.strategy, backends)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, opened.Close)
	if opened.Cohort != nil {
		p.metrics.Gate(v.name, opened.Cohort.Waiting)
	}
	guard := lockstrategy.Guard{Strategy: opened, Wait: c.Wait, Observer: p.metrics.Lock(v.name)}
	p.versions = append(p.versions, handlers.Version{Name: v.name, Does: v.does, Lock: guard})
	return nil
}

func (p *parts) handler(c *serveCommand, log *slog.Logger) http.Handler {
	checks := []handlers.Check{{Name: p.redis.String(), Ping: p.redis.Ping}, {Name: p.orders.String(), Ping: p.orders.Ping}}
	if p.nodes != nil {
		checks = append(checks, handlers.Check{Name: "redlock", Ping: p.nodes.Ping})
	}
	return handlers.New(handlers.Config{
		Instance: c.Instance, Topology: c.Topology, Build: build(), Versions: p.versions,
		Views: pview.NewCounter(p.redis.Master, p.redis.Replica), Orders: p.orders,
		Checks: checks, Preflight: p.preflight.ready, Metrics: p.metrics, AdminToken: c.AdminToken, Log: log,
	})
}

func (p *parts) names() []string {
	var names []string
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
