package scorecard

import (
	"context"
	"errors"
	"time"

	"locklab/lab/clients"
	"locklab/lab/history"
)

// lateRelease lets A release a lock that its server has lost, and that B holds.
func lateRelease(keysLost bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		all, h := b.warm(ctx, 3)
		other, c := all[1], all[2]
		if keysLost {
			b.loseKeys(ctx)
		} else {
			release(ctx, h)
		}
		next := other.holds(ctx, key)
		if keysLost {
			release(ctx, h)
		}
		b.intruder(ctx, c, clients.NewResource(b.Trial, false), next, b.lease/10)
	}
}

// lostRelease loses the reply to A's release. The key must become free, and A must not release the lock of B.
func lostRelease(lost bool) func(context.Context, *bench) {
	return func(ctx context.Context, b *bench) {
		a, other, h := b.twoCopies(ctx)
		mustBeLost := func() {}
		if lost {
			mustBeLost = a.loseReply()
		}
		sent := b.Now()
		release(ctx, h)
		mustBeLost()
		b.Must(b.lostBefore(sent))
		if next := b.freed(ctx, other, "a release whose reply was lost"); next != nil {
			release(ctx, h) // a careful client repeats it
			b.intruder(ctx, a, clients.NewResource(b.Trial, false), next, b.lease/10)
		}
	}
}

// lostBefore is an error when a reply was lost before a moment: then it was that to a renewal.
func (b *bench) lostBefore(release time.Duration) error {
	for _, e := range b.Events() {
		if e.Kind == history.Fault && e.Text == replyLost && e.At < release {
			return errors.New("the reply to a renewal was lost before the release: run it again")
		}
	}
	return nil
}
