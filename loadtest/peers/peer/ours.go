package peer

import (
	"context"
	"errors"

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
	// The assertion goes when Redis is a Strategy without a decorator; until then the row fails with this sentence.
	alone, ok := any(r).(lockstrategy.Strategy)
	if !ok {
		return nil, nil, errors.Join(errors.New("lockstrategy.Redis is no Strategy without the cohort"), r.Close())
	}
	return strategy(alone), r.Close, nil
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
