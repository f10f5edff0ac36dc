package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

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

// Excludes lets goroutines of both clients fight for one key, each for some turns, and returns an
// error when two held it at once, or when anything else went wrong.
func Excludes(ctx context.Context, one, two lockstrategy.Strategy, goroutines, turns int) error {
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
				if err := turn(ctx, client, &section); err != nil {
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

func turn(ctx context.Context, client lockstrategy.Strategy, section *Overlap) error {
	lease, err := client.Acquire(ctx, "lock:contended")
	if err != nil {
		return err
	}
	err = section.Hold()
	return errors.Join(err, lease.Release(ctx))
}

// awaitWaiting returns when n callers stand in the gate's queues.
func awaitWaiting(t *testing.T, gate *lockstrategy.Gate, n int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); gate.Waiting() != n; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d callers wait, want %d", gate.Waiting(), n)
		}
	}
}
