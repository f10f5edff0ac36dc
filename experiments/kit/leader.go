package kit

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/lockstrategy"
	"locklab/stack"
)

// UpdateAfterElection lets a client wait for the lock in the background, and update when it is granted. An election takes longer than
// the client waits for an answer, so it asks again.
func UpdateAfterElection(ctx context.Context, t *experiments.Trial, b *Client, r *Resource) (wait func()) {
	return t.Go(func() {
		for {
			h, err := b.TryAcquire(ctx)
			if errors.Is(err, lockstrategy.ErrUnavailable) {
				continue
			}
			t.Must(err)
			r.Add(h)
			h.Release(ctx)
			return
		}
	})
}

// KillAndMeasure kills a leader, and measures when probe is granted a lock that nobody holds. It returns when the leader was killed.
func KillAndMeasure(ctx context.Context, t *experiments.Trial, probe *Client, kill func()) (killed time.Time) {
	granted := func() {
		t.Must(stack.Until(ctx, func(ctx context.Context) error {
			lease, err := probe.Lock.Acquire(ctx, "lock:probe")
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		}))
	}
	granted()
	killed = time.Now()
	kill()
	granted()
	t.Measure("probe", time.Since(killed).Milliseconds(), "ms for which nobody was granted a lock after the leader had died")
	return killed
}
