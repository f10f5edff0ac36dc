package lockstrategy

import (
	"context"
	"time"
)

// None grants every key to everybody immediately. Alone it is no lock (v1); behind a queue it is a mutex in the process (v2), which another
// process does not see.
type None struct{}

// Acquire grants key, unless ctx has ended.
func (None) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	request, err := NewRequest(options...)
	if err == nil && ctx.Err() != nil {
		err = EndOf(ctx)
	}
	if err != nil {
		return nil, NotAcquired(key, err)
	}
	n := new(nothing)
	n.ctx, n.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	for _, bound := range []*time.Duration{request.Expiry, request.RenewAtMost} {
		if end := time.Now(); bound != nil && (n.until.IsZero() || end.Add(*bound).Before(n.until)) {
			n.until = end.Add(*bound)
		}
	}
	if !n.until.IsZero() {
		n.timer = time.AfterFunc(time.Until(n.until), func() { n.cancel(ErrExpired) })
	}
	return NewLease(n.ctx, 0, n), nil
}

// nothing is what a holder of [None] has: a time.
type nothing struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	until  time.Time
	timer  *time.Timer // nil if the lease has no end
}

// Until implements [Holder].
func (n *nothing) Until() time.Time { return n.until }

// Release implements [Holder].
func (n *nothing) Release(context.Context) error {
	n.cancel(nil)
	if n.timer != nil {
		n.timer.Stop()
	}
	return LossOf(n.ctx)
}
