package locktest

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"locklab/lockstrategy"
)

// errOverlap says that the exclusion does not hold.
var errOverlap = errors.New("two holders at the same time")

// Excludes lets goroutines of both clients compete for key, each for some turns. It returns an error when two held it
// simultaneously, or when anything else went wrong.
func Excludes(ctx context.Context, one, two lockstrategy.Strategy, key string, goroutines, turns int) error {
	var inside atomic.Int32
	clients := []lockstrategy.Strategy{one, two}
	return compete(ctx, key, clients, goroutines, turns, func(int, *lockstrategy.Lease) error {
		defer inside.Add(-1)
		if inside.Add(1) > 1 {
			return errOverlap
		}
		for range 50 { // it gives the processor away so often that an overlap that can happen does
			runtime.Gosched()
		}
		return nil
	})
}

// compete lets goroutines of each client acquire key for some turns, and runs section under every lease. The first error ends it.
func compete(
	ctx context.Context, key string, clients []lockstrategy.Strategy, goroutines, turns int,
	section func(client int, lease *lockstrategy.Lease) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, client := range clients {
		for range goroutines {
			group.Go(func() error {
				for range turns {
					lease, err := client.Acquire(ctx, key, lockstrategy.WaitAtMost(timeout))
					if err != nil {
						return err
					}
					if err := errors.Join(section(i, lease), lease.Release(ctx)); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	return group.Wait()
}
