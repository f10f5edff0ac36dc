package lockstrategy

import (
	"context"
	"errors"
	"time"
)

// Guard gives a strategy the callback form that pview and order ask for.
type Guard struct {
	Strategy Strategy
	Wait     time.Duration // longest wait for the lock; without one, the caller's context bounds the wait
	Once     bool          // make one attempt and do not wait
	Observer Observer      // may be nil
}

// Observer is told of each lock. Its methods are called from many goroutines.
type Observer interface {
	// Asked reports the wait for a lease. err is nil after a grant; otherwise it wraps ErrNotAcquired.
	Asked(waited time.Duration, err error)
	// Released reports the end of a lease, how long it was held, and the error of its release.
	Released(held time.Duration, err error)
}

// Do runs fn while it holds key. fn's context ends with ctx, and with the lease and its cause. The error is fn's. It is joined with
// [ErrLost] when the lease was lost before it was released: then fn may have run beside another holder. A release that the server
// did not confirm is no error of Do, for fn has done its work under the lock. The Observer is told of it.
func (g Guard) Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) (err error) {
	asked := time.Now()
	lease, err := g.acquire(ctx, key)
	granted := time.Now()
	if g.Observer != nil {
		g.Observer.Asked(granted.Sub(asked), err)
	}
	if err != nil {
		return err
	}
	defer func() { // deferred: a panic in fn must not keep the lock
		released := lease.Release(ctx)
		if g.Observer != nil {
			g.Observer.Released(time.Since(granted), released)
		}
		if errors.Is(released, ErrLost) {
			err = errors.Join(released, err)
		}
	}()

	// fn's context is the lease's, so that fn may enter again. It ends with the caller's as well.
	work, cancel := context.WithCancelCause(lease.Context())
	defer cancel(nil)
	if deadline, bounded := ctx.Deadline(); bounded { // clients of databases look at it
		var stop context.CancelFunc
		work, stop = context.WithDeadline(work, deadline)
		defer stop()
	}
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	return fn(work, lease.FencingToken())
}

// Within returns the guard with another longest wait. With 0 it makes one attempt and does not wait.
func (g Guard) Within(wait time.Duration) Guard {
	g.Wait, g.Once = wait, wait <= 0
	return g
}

func (g Guard) acquire(ctx context.Context, key string) (*Lease, error) {
	switch {
	case g.Once:
		return g.Strategy.Acquire(ctx, key, TryOnce())
	case g.Wait > 0:
		return g.Strategy.Acquire(ctx, key, WaitAtMost(g.Wait))
	}
	return g.Strategy.Acquire(ctx, key)
}
