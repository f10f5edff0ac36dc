package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "L15-forced-unlock",
	Article: "A1",
	Claim:   "A forced unlock is seen by the holder: its context ends.",
	Says:    "RLock can be unlocked by force. Who held it then is not told of by the article: Redisson's holder learns nothing, and works on.",
	Drawing: `
A       ├─ lock ─ read 0 ───────── ✗ its context ends: it does not write
admin                 └─ frees it
B                        ├─ lock ─ read 0 ─ write 1`,
	How:   "A takes the lock with a lease of a minute, whose first renewal is far away, and reads. Somebody else frees the lock by force, and B takes it. A waits until its context ends, for half of the time to its renewal at most, and does not write. One who does not look writes all the same: then only a check of the fence helps.",
	Takes: 3 * time.Second,
	Check: func(events []history.Event) []history.Violation {
		return append(history.Counter(events), history.Noted(events, notTold)...)
	},
	Variants: []experiments.Variant{
		{Name: "not forced", Run: unforced},
		{Name: "forced", Fault: true, Run: forced(true, false)},
		{Name: "forced, and A does not look", Expect: experiments.Sometimes, Fault: true, Run: forced(false, false)},
		{Name: "forced, A does not look, the fence is checked", Fault: true, Run: forced(false, true)},
	},
})

// notTold notes a holder that has not learnt that its lock was freed.
const notTold = "its lock was freed by force and it was not told"

func unforced(ctx context.Context, t *experiments.Trial) error {
	return onSingle(nothing)(ctx, t)
}

// forced frees A's lock by force. A looks at its lease before it writes, or does not.
func forced(looks, checks bool) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		_, redis, err := single(ctx, t)
		if err != nil {
			return err
		}
		one, err := v3(t, redis, longLease)
		if err != nil {
			return err
		}
		two, err := v3(t, redis, longLease)
		if err != nil {
			return err
		}
		r := newResource(t, checks)
		defer r.final()
		a, err := newClient(t, "A", one.Strategy).acquire(ctx)
		if err != nil {
			return err
		}
		value := r.read(a)
		freed, err := two.Admin.ForceUnlock(ctx, lockKey)
		if err != nil {
			return err
		}
		if freed {
			t.Fault("admin", "frees the lock by force", "the server says that somebody had it")
		}
		if err := last(ctx, r, newClient(t, "B", two.Strategy)); err != nil {
			return err
		}
		if !looks {
			r.write(a, value+1)
		}
		return a.told(ctx, longLease/6)
	}
}

// told waits until the holder has learnt of its loss, for so long.
func (h *held) told(ctx context.Context, within time.Duration) error {
	short, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := h.lost(short); err != nil {
		h.record(history.Note, notTold)
	}
	_ = h.release(ctx)
	return ctx.Err()
}
