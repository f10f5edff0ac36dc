package claims

import (
	"context"
	"errors"
	"fmt"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
)

// taker comes for the lock, after whatever has to happen before. Without a client nobody comes.
type taker func(ctx context.Context) (*client, error)

// contest lets takers come one after the other while nobody gives anything back. Who gets the lock reads; then, from the
// last to the first, each writes what it has read plus one, unless its lease's context says that it no longer has the
// lock. So everybody honours the lock, and an update that is lost is the lock's fault. Who is refused is the last to
// come, and waits until the others are done.
func contest(ctx context.Context, t *experiments.Trial, takers ...taker) error {
	r := newResource(t, false)
	defer r.final()
	var holders []*held
	var values []int64
	var refused *client
	for _, comes := range takers {
		c, err := comes(ctx)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		h, err := c.acquire(ctx, lockstrategy.TryOnce())
		if errors.Is(err, lockstrategy.ErrTaken) {
			refused = c
			break
		}
		if err != nil {
			return err
		}
		if c.settles {
			if err := h.settled(ctx); err != nil {
				return err
			}
		}
		holders, values = append(holders, h), append(values, r.read(h))
	}
	for i := len(holders) - 1; i >= 0; i-- {
		if holders[i].alive() {
			r.write(holders[i], values[i]+1)
		}
	}
	for _, h := range holders {
		_ = h.release(ctx) // to a server that is dead, maybe: what it said is recorded
	}
	return last(ctx, r, refused)
}

// refused says why a contest in which a lock was to survive has not shown it: nobody was refused by the server that came after.
func refused(t *experiments.Trial) error {
	for _, e := range t.Events() {
		if e.Kind == history.Refuse && e.Timeline == "B" {
			return nil
		}
	}
	return errors.New("nobody refused B: the lock was lost, or its lease had ended before B came")
}

// last lets who was refused wait for the lock, and do its work.
func last(ctx context.Context, r *resource, c *client) error {
	if c == nil {
		return nil
	}
	h, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	r.add(h)
	return h.release(ctx)
}

// settled waits until the lease has been confirmed: a holder of v3 asks once more when it begins to listen, a moment after the grant. What
// happens to the lock before that, it would see.
func (h *held) settled(ctx context.Context) error {
	granted := h.lease.Until()
	return stack.Until(ctx, func(context.Context) error {
		if h.lease.Until().Equal(granted) {
			return fmt.Errorf("%s has not confirmed its lease", h.client.lane)
		}
		return nil
	})
}

// alive reports whether the lease's context says that the lock is held, and records it when it does not.
func (h *held) alive() bool {
	if h.lease.Context().Err() == nil {
		return true
	}
	h.record(history.Lose, reason(context.Cause(h.lease.Context())))
	return false
}
