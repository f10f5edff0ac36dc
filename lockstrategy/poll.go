package lockstrategy

import (
	"context"
	"time"
)

// base is shared by RedLock, Database, Etcd and Memcached.
type base struct {
	owners
	sessions *Sessions
}

func newBase() base { return base{newOwners(), NewSessions()} }

// Close ends the repeated releases. Callers that wait, or ask from now on, get [ErrUnavailable]. Leases that are held stay held, and can
// be released.
func (b *base) Close() error {
	b.sessions.Close()
	return nil
}

// Poll is Acquire for a strategy that is not notified. It calls try until try grants key or fails. The pauses between two calls are
// random: interval at most, and half of it at least.
func (all *Sessions) Poll(
	ctx context.Context, key string, options []Option, interval time.Duration, try func(Request) (g Grant, granted bool, err error),
) (*Lease, error) {
	request, err := NewRequest(options...)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	ctx, cancel := request.within(ctx)
	defer cancel()
	w := waiter{life: all.ctx, interval: interval}
	if err := w.yield(ctx, request.Yield); err != nil {
		return nil, notAcquired(key, err)
	}
	for {
		grant, granted, err := try(request)
		switch {
		case err != nil:
			return nil, notAcquired(key, err)
		case granted:
			return all.Begin(ctx, request, grant)
		case request.Once:
			return nil, notAcquired(key, w.taken())
		}
		if err := w.wait(ctx, interval); err != nil {
			return nil, notAcquired(key, err)
		}
	}
}
