package lockstrategy

import (
	"context"
	"sync/atomic"
	"time"
)

// Lease is a held lock. It has a lifetime: its context.
type Lease struct {
	ctx      context.Context
	hold     *hold
	released atomic.Bool
}

// Context ends when the lock is no longer held: with a cause that wraps [ErrLost] when it can no longer be
// relied on, with [context.Canceled] when it was released. It has the values of the context under which
// the lease was acquired, and whoever acquires the same key under it enters again. Work under the
// lock belongs under this context.
func (l *Lease) Context() context.Context { return l.ctx }

// FencingToken is a number that only grows, one per owner. 0: this strategy issues none.
func (l *Lease) FencingToken() uint64 { return l.hold.fence }

// Until is when the lease ends unless it is renewed before. Zero: it does not end by itself.
func (l *Lease) Until() time.Time {
	if l.hold.tenure == nil {
		return time.Time{}
	}
	return l.hold.tenure.end()
}

// Release gives up the lease. With the owner's last one the lock goes to the next waiter in this process,
// or back to its server, and the context ends. It works under a ctx that has ended.
//
// The second call returns [ErrNotHeld], and changes nothing. A lease that had been lost returns why, an
// [ErrLost]: the work under it may have overlapped with another holder's. Any other error means that
// the server did not confirm: then the strategy goes on trying in the background, and the lock is
// free at the latest when its lease ends.
func (l *Lease) Release(ctx context.Context) error {
	if l.hold == nil || l.released.Swap(true) {
		return ErrNotHeld
	}
	return l.hold.leave(ctx)
}

// hold is one owner's time with a lock, however often the owner has entered.
type hold struct {
	key    string
	tenure *tenure // nil: a lock without a gate
	fence  uint64
	ctx    context.Context
	end    context.CancelCauseFunc
	leases atomic.Int32 // not yet released; at zero the owner is out for good
}

func newHold(t *tenure, key string) *hold {
	h := &hold{key: key, tenure: t}
	h.ctx, h.end = context.WithCancelCause(context.Background())
	h.leases.Store(1)
	return h
}

// lease is one entry of h's owner, with ctx's values.
func (h *hold) lease(ctx context.Context) *Lease { return &Lease{ctx: h.within(ctx), hold: h} }

// enter counts one more entry, unless the owner is out or has lost the lock.
func (h *hold) enter() bool {
	for n := h.leases.Load(); n > 0 && h.ctx.Err() == nil; n = h.leases.Load() {
		if h.leases.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// leave takes one entry back, and with the last one the lock.
func (h *hold) leave(ctx context.Context) error {
	switch last := h.leases.Add(-1) == 0; {
	case h.tenure == nil && last:
		h.end(nil)
		return nil
	case h.tenure == nil:
		return nil
	case last:
		return h.tenure.gate.release(ctx, h)
	}
	return h.tenure.lossOf()
}

// heldKey finds an owner's hold in a context.
type heldKey struct {
	gate *Cohort
	key  string
}

// found is under what h is found; without a gate nobody looks for it.
func (h *hold) found() heldKey {
	if h.tenure == nil {
		return heldKey{}
	}
	return heldKey{h.tenure.gate, h.key}
}

// reenter returns one more lease for an owner that holds key by g already, or nil.
func reenter(ctx context.Context, g *Cohort, key string) *Lease {
	if h, _ := ctx.Value(heldKey{g, key}).(*hold); h != nil && h.enter() {
		return h.lease(ctx)
	}
	return nil
}

// within is a context with values' values, h's end, and h to be found in it.
func (h *hold) within(values context.Context) context.Context { return &heldContext{h.ctx, values, h} }

type heldContext struct {
	context.Context // the end and its cause are the hold's
	values          context.Context
	hold            *hold
}

// Value looks at the hold's own context first, because package context finds the cause of an end by a value.
func (c *heldContext) Value(key any) any {
	if key == any(c.hold.found()) {
		return c.hold
	}
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}
