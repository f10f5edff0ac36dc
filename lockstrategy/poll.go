package lockstrategy

import (
	"context"
	"time"
)

// Poll is Acquire for a strategy that is not notified. It calls try until try returns a lease or an error. The pauses between two
// calls are random: interval at most, and half of it at least.
func (all *Sessions) Poll(
	ctx context.Context, key string, options []Option, interval time.Duration, try func(Request) (*Lease, error),
) (*Lease, error) {
	w := waiter{life: all.ctx, interval: interval}
	return w.acquire(ctx, key, options, func(request Request) (*Lease, time.Duration, error) {
		lease, err := try(request)
		return lease, interval, err
	})
}
