package worker

import (
	"context"
	"errors"

	"locklab/lab/servers"
	"locklab/lockstrategy/localqueue"
	"locklab/topology"
	"locklab/versions"
)

// own is a lock of the lab with its defaults, unless it says something else.
type own struct {
	strategy string
	bare     bool // without its queue
	handOff  int  // HandOff.Count; 0: the default
}

var ours = map[string]own{
	"ours":    {strategy: versions.NameRedis},
	"ours-1":  {strategy: versions.NameRedis, handOff: 1},
	"ours-4":  {strategy: versions.NameRedis, handOff: 4},
	"ours-16": {strategy: versions.NameRedis, handOff: 16},
	"bare":    {strategy: versions.NameRedis, bare: true},
	"redlock": {strategy: versions.NameRedLock},
}

func init() { // the versions on other servers
	for _, v := range versions.All() {
		if kind, _ := servers.KindNamed(v.Server()); kind.Requests != nil {
			ours[v.Name] = own{strategy: v.Strategy}
		}
	}
}

// open connects and opens the strategy.
func (o own) open(s clients) (Lock, func() error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), connects)
	defer cancel()
	b := versions.Backends{Redis: s.redis, Nodes: s.nodes, HandOff: localqueue.HandOff{Count: o.handOff}}
	disconnect, err := o.connect(ctx, s.backend, &b)
	if err != nil {
		return nil, nil, err
	}
	opened, err := versions.Open(o.strategy, b)
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
func (o own) connect(ctx context.Context, addr string, b *versions.Backends) (disconnect func() error, err error) {
	if addr == "" {
		return func() error { return nil }, nil
	}
	opened, err := topology.Connect(ctx, o.strategy, topology.Config{Addrs: []string{addr}})
	if err != nil {
		return nil, err
	}
	return opened.Close, b.Use(o.strategy, opened.Backend())
}
