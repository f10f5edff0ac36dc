package lockstrategy

import (
	"context"
	"time"
)

// Poll is acquire for a strategy that is not notified: it calls try until that returns a lease or an error, with random pauses of
// interval at most and half of it at least.
func (all *Sessions) Poll(
	ctx context.Context, key string, options []Option, interval time.Duration, try func(Request) (*Lease, error),
) (*Lease, error) {
	w := waiter{life: all.ctx, interval: interval}
	return w.acquire(ctx, key, options, func(request Request) (*Lease, time.Duration, error) {
		lease, err := try(request)
		return lease, interval, err
	})
}
