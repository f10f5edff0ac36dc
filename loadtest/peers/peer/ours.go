package peer

import (
	"context"

	"locklab/lockstrategy"
)

// openStrategy opens a lock of the lab on Redis with its defaults, behind its cohort or bare.
func openStrategy(name string, s Servers, isBare bool) (Lock, func() error, error) {
	o, closer, err := open(name, lockstrategy.Backends{Redis: s.Redis, Nodes: s.Nodes}, isBare)
	if err != nil {
		return nil, nil, err
	}
	return strategy(o), closer, nil
}

func strategy(s lockstrategy.Strategy) Lock {
	return func(ctx context.Context, key string) (func() error, error) {
		lease, err := s.Acquire(ctx, key)
		if err != nil {
			return nil, err
		}
		return func() error { return lease.Release(ctx) }, nil
	}
}
