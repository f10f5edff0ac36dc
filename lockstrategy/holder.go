package lockstrategy

import (
	"context"
	"sync/atomic"
	"time"
)

// holder is one caller's time with the lock, however often the caller has entered.
type holder struct {
	cohort  *Cohort
	key     string
	turn    *turn
	token   uint64
	ctx     context.Context
	cancel  context.CancelCauseFunc
	entries atomic.Int32 // leases that are not released; at zero the holder gives the lock up
}

// lease is one entry of the holder.
func (h *holder) lease(ctx context.Context) *Lease {
	return &Lease{ctx: &heldContext{h.ctx, ctx, h}, token: h.token, origin: h}
}

// until implements origin.
func (h *holder) until() time.Time { return h.turn.lease.Until() }

// release implements origin. The release of the last entry gives the lock up.
func (h *holder) release(ctx context.Context) (listeners int, err error) {
	if h.entries.Add(-1) > 0 {
		return 0, loss(h.ctx)
	}
	h.cancel(nil) // nobody may rely on it from here on, whatever the server will say
	return h.cohort.release(ctx, h)
}

// enterAgain returns one more lease for a caller that holds key already, or nil.
func (c *Cohort) enterAgain(ctx context.Context, key string) *Lease {
	h, _ := ctx.Value(holderKey{c, key}).(*holder)
	if h == nil || ctx.Err() != nil {
		return nil
	}
	for n := h.entries.Load(); n > 0 && h.ctx.Err() == nil; n = h.entries.Load() {
		if h.entries.CompareAndSwap(n, n+1) {
			return h.lease(ctx)
		}
	}
	return nil
}

// holderKey finds a caller's holder in a context.
type holderKey struct {
	cohort *Cohort
	key    string
}

// heldContext ends with its holder, has the values of the caller's context, and the holder in it.
type heldContext struct {
	context.Context
	values context.Context
	holder *holder
}

// Value looks at the holder's own context first, because package context finds the cause of an end by a value.
func (c *heldContext) Value(key any) any {
	if key == any(holderKey{c.holder.cohort, c.holder.key}) {
		return c.holder
	}
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// under is ctx for work that may enter again.
func (l *Lease) under(ctx context.Context) context.Context {
	if h, ok := l.origin.(*holder); ok {
		return context.WithValue(ctx, holderKey{h.cohort, h.key}, h)
	}
	return ctx
}
