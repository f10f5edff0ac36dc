package locktest

import (
	"context"
	"errors"
	"fmt"
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
	var entered atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for g := range 2 * goroutines {
		client := one
		if g%2 == 1 {
			client = two
		}
		group.Go(func() error {
			for range turns {
				if err := turn(ctx, client, key, &section); err != nil {
					return err
				}
				entered.Add(1)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if want := int64(2 * goroutines * turns); entered.Load() != want {
		return fmt.Errorf("%d turns of %d", entered.Load(), want)
	}
	return nil
}

func turn(ctx context.Context, client lockstrategy.Strategy, key string, section *Overlap) error {
	lease, err := client.Acquire(ctx, key)
	if err != nil {
		return err
	}
	err = section.Hold()
	return errors.Join(err, lease.Release(ctx))
}
