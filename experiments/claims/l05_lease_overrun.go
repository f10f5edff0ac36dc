package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

// shortLease is that of experiments in which a lease must end: work is measured in leases.
const shortLease = 300 * time.Millisecond

var _ = register(experiments.Experiment{
	ID:      "L05-lease-overrun",
	Article: "A0, A2",
	Claim:   "Work longer than the lease puts two holders into the section; renewal at a third of the lease prevents it.",
	Says:    "Comparing values on release does not help a holder whose lease has run out: another is in the section already. Extending the lease while the work goes on does.",
	Drawing: `
A  ├─ lease ──┤            (works on, without looking)          write 1
B             ├─ lease: read 0, write 1 ─┤                       ↑ B's update is gone`,
	How:     "A takes the lock with an explicit lease, reads, and works on without looking at its lease's context until B has had the lock; then it writes. With renewal it works for three leases. SET NX PX has none, and no context to look at.",
	Anomaly: "lease overrun",
	Takes:   4 * time.Second,
	Check:   history.Counter,
	Variants: []experiments.Variant{
		{Name: "short work", Run: overrun(shortWork)},
		{Name: "long work", Expect: experiments.Sometimes, Run: overrun(longWork)},
		{Name: "long work, renewed", Strategy: "v3", Run: overrun(renewedWork)},
		{Name: "long work: SET NX PX", Expect: experiments.Sometimes, Strategy: "SET NX PX", Run: walk(naive.Compare, "A A … B B B B A A")},
	},
})

// overrun lets A work in its way, and B after it.
func overrun(work func(ctx context.Context, a, b *client, r *resource) error) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		_, redis, err := single(ctx, t)
		if err != nil {
			return err
		}
		one, err := v3(t, redis, shortLease)
		if err != nil {
			return err
		}
		two, err := v3(t, redis, shortLease)
		if err != nil {
			return err
		}
		r := newResource(t, false)
		defer r.final()
		return work(ctx, newClient(t, "A", one.Strategy), newClient(t, "B", two.Strategy), r)
	}
}

func shortWork(ctx context.Context, a, b *client, r *resource) error {
	for _, c := range []*client{a, b} {
		h, err := c.acquire(ctx, lockstrategy.LeaseFor(time.Minute))
		if err != nil {
			return err
		}
		r.add(h)
		if err := h.release(ctx); err != nil {
			return err
		}
	}
	return nil
}

func longWork(ctx context.Context, a, b *client, r *resource) error {
	first, err := a.acquire(ctx, lockstrategy.LeaseFor(shortLease))
	if err != nil {
		return err
	}
	value := r.read(first)
	second, err := b.acquire(ctx) // when A's lease is over
	if err != nil {
		return err
	}
	r.add(second)
	r.write(first, value+1) // it has not looked
	if err := first.lost(ctx); err != nil {
		return err
	}
	return second.release(ctx)
}

func renewedWork(ctx context.Context, a, b *client, r *resource) error {
	first, err := a.acquire(ctx)
	if err != nil {
		return err
	}
	waited := make(chan error, 1)
	r.t.Go(func() { waited <- last(ctx, r, b) })
	value := r.read(first)
	select {
	case <-time.After(3 * shortLease): // that is the work
	case <-first.lease.Context().Done():
	}
	r.write(first, value+1)
	if err := first.release(ctx); err != nil {
		return err
	}
	return <-waited
}
