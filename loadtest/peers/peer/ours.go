package peer

import (
	"context"

	"locklab/lockstrategy"
)

// ours is lockstrategy with its defaults, as v3 (one Redis) and v4 (five nodes) use it.
type ours struct{ *lockstrategy.Opened }

func openOurs(s Servers) (Lock, error) {
	o, err := lockstrategy.Open(lockstrategy.NameRedis, lockstrategy.Backends{Redis: s.Redis})
	return ours{o}, err
}

func openRedLock(s Servers) (Lock, error) {
	o, err := lockstrategy.Open(lockstrategy.NameRedLock, lockstrategy.Backends{Nodes: s.Nodes})
	return ours{o}, err
}

func (o ours) Lock(ctx context.Context, key string) (func() error, error) {
	lease, err := o.Strategy.Acquire(ctx, key) // past Opened, whose frame each of ten thousand waiters would keep
	if err != nil {
		return nil, err
	}
	return func() error { return lease.Release(ctx) }, nil
}

func (o ours) Close() error { return o.Opened.Close() }
