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

// openBare opens the Redis lock without the cohort.
func openBare(s Servers) (Lock, func() error, error) {
	r, err := lockstrategy.NewRedis(s.Redis, lockstrategy.RedisConfig{})
	if err != nil {
		return nil, nil, err
	}
	return strategy(r), r.Close, nil
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
