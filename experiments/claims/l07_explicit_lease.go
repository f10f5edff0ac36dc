package claims

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "L07-explicit-lease",
	Article: "A3",
	Claim:   "A lock that is taken for a time of one's own choice is not renewed: work that is longer is no longer protected.",
	Says:    "The lock is taken for three seconds, and beside that the watchdog extends it as long as the holder lives.",
	Erratum: "A3 takes the lock with lock(2, 3, SECOND), which Redisson does not have; and whoever names a lease there, as in lock(3, SECONDS), starts no watchdog, which the same article describes as always on.",
	Drawing: `
A  ├─ lease of its own choice ─┤            (still at work)        write 1
B  waits                       ├─ read 0, write 1 ─┤                ↑ B's update is gone
A  ├─ no lease named: renewed, renewed, renewed ── write 1 ─┤
B  waits                                                    ├─ read 1, write 2 ─┤`,
	How:   "A takes the lock, reads, and works for two leases, or until B has been in the section; then it writes. B waits for the lock from the beginning. The arms differ in one argument of A's: the lease.",
	Takes: 5 * time.Second,
	Check: func(trial []history.Event) []history.Violation {
		return explained(trial, history.Counter(trial))
	},
	Variants: []experiments.Variant{
		{Name: "no lease named", Run: twoLeases()},
		{Name: "a lease named", Expect: experiments.Sometimes, Run: twoLeases(lockstrategy.LeaseFor(namedLease))},
	},
})

// namedLease is both leases: the one that is named, and the one that is renewed.
const namedLease = 500 * time.Millisecond

// twoLeases lets A work for two leases while B waits. A takes the lock with options.
func twoLeases(options ...lockstrategy.Option) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		_, redis, err := single(ctx, t)
		if err != nil {
			return err
		}
		one, err := v3(t, redis, namedLease)
		if err != nil {
			return err
		}
		two, err := v3(t, redis, namedLease)
		if err != nil {
			return err
		}
		r := newResource(t, false)
		defer r.final()
		a, b := newClient(t, "A", one.Strategy), newClient(t, "B", two.Strategy)
		first, err := a.acquire(ctx, options...)
		if err != nil {
			return err
		}
		value := r.read(first)
		been := make(chan error, 1)
		t.Go(func() { been <- b.turn(ctx, r) })
		select {
		case <-time.After(2 * namedLease): // that is the work
			r.write(first, value+1)
			return errors.Join(first.release(ctx), <-been)
		case err := <-been:
			r.write(first, value+1) // it has not looked at its lease
			return errors.Join(err, first.lost(ctx))
		}
	}
}

// turn is one update under the lock.
func (c *client) turn(ctx context.Context, r *resource) error {
	h, err := c.acquire(ctx)
	if err != nil {
		return err
	}
	r.add(h)
	return h.release(ctx)
}
