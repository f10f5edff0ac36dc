package worker

import (
	"context"
	"errors"

	"locklab/lockstrategy"
	"locklab/topology"
)

// bare ends the name of a lock without its cohort.
const bare = "-bare"

// own is a lock of the lab with its defaults, unless it says something else.
type own struct {
	strategy string
	bare     bool // without its cohort
	handOff  int  // HandOff.Count; 0: the default
}

var ours = map[string]own{
	"ours":    {strategy: lockstrategy.NameRedis},
	"ours-1":  {strategy: lockstrategy.NameRedis, handOff: 1},
	"ours-4":  {strategy: lockstrategy.NameRedis, handOff: 4},
	"ours-16": {strategy: lockstrategy.NameRedis, handOff: 16},
	"bare":    {strategy: lockstrategy.NameRedis, bare: true},
	"redlock": {strategy: lockstrategy.NameRedLock},
	"v5":      {strategy: lockstrategy.NameDatabase},
	"v6":      {strategy: lockstrategy.NameZooKeeper},
	"v7":      {strategy: lockstrategy.NameEtcd},
	"v8":      {strategy: lockstrategy.NameMemcached},
}

// open connects and opens the strategy.
func (o own) open(s servers) (Lock, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), connects)
	defer cancel()
	b := lockstrategy.Backends{Redis: s.redis, Nodes: s.nodes, HandOff: lockstrategy.HandOff{Count: o.handOff}}
	disconnect, err := o.connect(ctx, s.backend, &b)
	if err != nil {
		return nil, nil, err
	}
	opened, err := lockstrategy.Open(o.strategy, b)
	if err != nil {
		return nil, nil, errors.Join(err, disconnect())
	}
	strategy := opened.Strategy
	if o.bare {
		strategy = opened.Bare
	}
	lock := func(ctx context.Context, key string) (func() error, error) {
		lease, err := strategy.Acquire(ctx, key)
		if err != nil {
			return nil, err
		}
		return func() error { return lease.Release(ctx) }, nil
	}
	return lock, func() error { return errors.Join(opened.Close(), disconnect()) }, nil
}

// connect opens what the strategy needs beside Redis, with the app's own settings.
func (o own) connect(ctx context.Context, addr string, b *lockstrategy.Backends) (disconnect func() error, err error) {
	if addr == "" {
		return func() error { return nil }, nil
	}
	servers, err := topology.Connect(ctx, o.strategy, topology.Config{Addrs: []string{addr}})
	if err != nil {
		return nil, err
	}
	b.Use(servers.Backend())
	return servers.Close, nil
}
