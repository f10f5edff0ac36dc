package localqueue

import (
	"context"
	"sync/atomic"
	"time"

	"locklab/lockstrategy"
)

// turn is the time for which a process has a key. It is one lease of the strategy, which goes from one holder to the next.
type turn struct {
	lease   *lockstrategy.Lease
	private bool // granted with [lockstrategy.LeaseFor] or [lockstrategy.RenewAtMost]: never handed off
	began   time.Time
	fresh   time.Duration // the time of the lease that was left at its grant
	unwatch func() bool   // stops the watch for its loss
	holders int           // so far
	holder  *holder       // nil while the lease is on its way to the next holder
}

// mayPass reports whether the lease may be handed off. With less than half of its time left it is released instead.
func (t *turn) mayPass(bounds HandOff) bool {
	end := t.lease.Until()
	within := t.holders < bounds.Count && time.Since(t.began) < bounds.Time
	numbered := t.lease.FencingToken() == 0 || t.holders < lockstrategy.TokensPerGrant
	sound := t.lease.Context().Err() == nil && (end.IsZero() || time.Until(end) > t.fresh/2)
	return within && numbered && sound && !t.private
}

// holder is one caller's time with the lock, however often the caller has entered.
type holder struct {
	queue   *Queue
	key     string
	turn    *turn
	token   uint64
	ctx     context.Context // has the values of the caller's context, and this holder
	cancel  context.CancelCauseFunc
	entries atomic.Int32 // leases that are not released; at zero the holder gives the lock up
}

// again is a lease of a caller that enters again under ctx. Its context has the values of ctx, and ends with the holder's.
func (h *holder) again(ctx context.Context) *lockstrategy.Lease {
	return lockstrategy.NewLease(entered{h.ctx, context.WithoutCancel(ctx)}, h.token, h)
}

// entered is the context of the holder, with the values of the context under which its caller entered again.
type entered struct {
	context.Context
	values context.Context
}

// Value returns the caller's value. The rest is the holder's, so that contexts made from this one end together with it.
func (e entered) Value(key any) any {
	if value := e.values.Value(key); value != nil {
		return value
	}
	return e.Context.Value(key)
}

// Until implements [lockstrategy.Holder].
func (h *holder) Until() time.Time { return h.turn.lease.Until() }

// Release implements [lockstrategy.Holder]. The release of the last entry gives the lock up.
func (h *holder) Release(ctx context.Context) error {
	if h.entries.Add(-1) > 0 {
		return lockstrategy.LossOf(h.ctx)
	}
	h.cancel(nil) // nobody may rely on it from here on, whatever the server will say
	return h.queue.release(ctx, h)
}

// endLocked ends a turn, before its lease is released or because it was lost.
func (t *turn) endLocked(l *line) {
	t.unwatch()
	l.turn = nil
}
