package peer

import (
	"context"

	"locklab/lockstrategy"
)

// openStrategy opens a lock of the lab with its defaults.
func openStrategy(name string, s Servers) (Lock, func() error, error) {
	o, err := lockstrategy.Open(name, lockstrategy.Backends{Redis: s.Redis, Nodes: s.Nodes})
	if err != nil {
		return nil, nil, err
	}
	return strategy(o), o.Close, nil
}

// closing is a strategy without a cohort, as its constructor returns it.
type closing interface {
	lockstrategy.Strategy
	Close() error
}

// openBare takes a lock without its cohort.
func openBare(s closing, err error) (Lock, func() error, error) {
	if err != nil {
		return nil, nil, err
	}
	return strategy(s), s.Close, nil
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
