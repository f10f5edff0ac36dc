package locktest

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"locklab/lockstrategy"
)

// Overlap detects two holders at the same time.
type Overlap struct{ inside atomic.Int32 }

// Errors of an exclusion that does not hold.
var errOverlap = errors.New("two holders at the same time")

// Hold is a critical section: it fails when another one runs meanwhile. It gives the processor away
// so often that an overlap that can happen does.
func (o *Overlap) Hold() error {
	if n := o.inside.Add(1); n > 1 {
		o.inside.Add(-1)
		return errOverlap
	}
	for range 50 {
		runtime.Gosched()
	}
	if n := o.inside.Add(-1); n != 0 {
		return errOverlap
	}
	return nil
}

// Excludes lets goroutines of both clients compete for key, each for some turns. It returns an error when two held it
// simultaneously, or when anything else went wrong.
func Excludes(ctx context.Context, one, two lockstrategy.Strategy, key string, goroutines, turns int) error {
	var section Overlap
	clients := []lockstrategy.Strategy{one, two}
	return compete(ctx, key, clients, goroutines, turns, func(int, *lockstrategy.Lease) error { return section.Hold() })
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
					lease, err := client.Acquire(ctx, key, lockstrategy.WaitAtMost(patience))
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
