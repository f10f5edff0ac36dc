package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Lease is a held lock. It has a lifetime: its context.
type Lease struct {
	ctx      context.Context
	end      context.CancelCauseFunc
	term     term
	expiry   *time.Timer   // fires when the lease can no longer be relied on; nil: it never expires
	kept     chan struct{} // closed when renewal has stopped; nil: it was never started
	released atomic.Bool
	passOn   func() // told once, after release: how a gate learns that the turn is over
}

// term is what a backend says about a lease that it has just granted.
type term struct {
	fence   uint64
	until   time.Time                                          // counted from BEFORE the request was sent; zero: no expiry
	every   time.Duration                                      // between renewals
	renew   func(context.Context) (until time.Time, err error) // an error that wraps ErrLost is final, others are retried
	release func(context.Context) error                        // bounded by itself; nil: there is nobody to tell
}

// hold makes a lease of t. It keeps ctx's values, not its end.
func hold(ctx context.Context, t term) *Lease {
	l := &Lease{term: t}
	l.ctx, l.end = context.WithCancelCause(context.WithoutCancel(ctx))
	if t.until.IsZero() {
		return l
	}
	// A timer of its own, so that a renewal that hangs cannot delay the loss.
	l.expiry = time.AfterFunc(time.Until(t.until), func() {
		l.end(fmt.Errorf("%w: it expired and could not be renewed", ErrLost))
	})
	l.kept = make(chan struct{})
	go l.keep()
	return l
}

// keep renews the lease until it ends. A renewal that gets no answer is tried again sooner: the
// expiry decides when that was too late.
func (l *Lease) keep() {
	defer close(l.kept)
	renewal := time.NewTimer(l.term.every)
	defer renewal.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-renewal.C:
		}
		until, err := l.term.renew(l.ctx)
		switch {
		case errors.Is(err, ErrLost):
			l.end(err)
			return
		case err != nil:
			renewal.Reset(l.term.every / 4)
		default:
			l.expiry.Reset(time.Until(until))
			renewal.Reset(l.term.every)
		}
	}
}

// Context ends when the lease does: with cause [ErrLost] when it can no longer be relied on,
// with context.Canceled when it was released. Work under the lock belongs under this context.
func (l *Lease) Context() context.Context { return l.ctx }

// Fence is a number that only grows, one per grant. 0: this strategy issues none.
func (l *Lease) Fence() uint64 { return l.term.fence }

// Release gives the lock back and ends the lease's context. It works under a ctx that has ended.
// The second call returns [ErrNotHeld]. A lease that had been lost returns [ErrLost]: the work
// under it may have overlapped with another holder's. Any other error means that the server did
// not confirm: then the Redis lock goes on trying in the background, and the lock is free at the latest
// when its lease ends.
func (l *Lease) Release(ctx context.Context) error {
	if l.released.Swap(true) {
		return ErrNotHeld
	}
	if l.passOn != nil {
		defer l.passOn()
	}
	l.end(nil) // nobody may rely on the lease from here on, whatever the server will say
	lost := l.lost()
	var err error
	if l.term.release != nil {
		err = l.term.release(context.WithoutCancel(ctx))
	}
	if l.kept != nil {
		<-l.kept
		l.expiry.Stop()
	}
	if lost != nil {
		return lost // what the server said about a lock that is no longer ours says nothing
	}
	return err
}

// lost returns why the lease was lost, or nil.
func (l *Lease) lost() error {
	if cause := context.Cause(l.ctx); errors.Is(cause, ErrLost) {
		return cause
	}
	return nil
}
