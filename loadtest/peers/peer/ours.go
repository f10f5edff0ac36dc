package peer

import (
	"context"

	"locklab/lockstrategy"
)

// ours is lockstrategy with its defaults, as v3 (one Redis) and v4 (five nodes) use it.
type ours struct {
	strategy lockstrategy.Strategy
	close    func() error
}

func openOurs(s Servers) (Lock, error) {
	return opened(lockstrategy.Open(lockstrategy.NameRedis, lockstrategy.Backends{Redis: s.Redis}))
}

func openRedLock(s Servers) (Lock, error) {
	return opened(lockstrategy.Open(lockstrategy.NameRedLock, lockstrategy.Backends{Nodes: s.Nodes}))
}

func opened(o *lockstrategy.Opened, err error) (Lock, error) {
	if err != nil {
		return nil, err
	}
	return ours{o.Strategy, o.Close}, nil
}

func (o ours) Lock(ctx context.Context, key string) (func() error, error) {
	lease, err := o.strategy.Acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	return func() error { return lease.Release(ctx) }, nil
}

func (o ours) Close() error { return o.close() }
