package lockstrategy

import "context"

// This file is the re-entrance of a [Cohort]: the context of a lease finds its holder (queue.go).

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
