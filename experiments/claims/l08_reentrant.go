package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L08-reentrant",
	Article: "A0, A1, A3",
	Claim:   "The owner enters again, is counted, and is out only at zero; others stay out until then, and a release by who does not have the lock is refused.",
	Says:    "A1's lock is a hash with the owner and how often it has entered; its release script answers 0 while the owner is still in, and nil to a stranger. A0 lists re-entrance among what a lock needs.",
	Erratum: "A3 explains re-entrance by \"A holds it, its time is over, A can take it again\": that is expiry. Here no time is over.",
	Drawing: `
A  enter (1)  read 0   enter (2)   leave (1)            write 1   leave (0)
B                                            refused                        enter   read 1  write 2`,
	How:   "A enters, reads, enters again by its lease's context and leaves once. B tries in that moment. Then A writes. If B got in, both write the same value. In another arm three do so at once, twenty times each. (A process here is a client with a gate and a place of its own, which is what makes it one to Redis; all of them run in the lab's.)",
	Takes: 2 * time.Second,
	Check: reentered,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Counted, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1}, Violation: steps.LostUpdate},
		{Lock: naive.Uncounted, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
	},
	Variants: []experiments.Variant{
		{Name: "entered once", Run: threeProcesses(enteredOnce)},
		{Name: "entered twice", Run: threeProcesses(enteredTwice)},
		{Name: "a stranger's release", Run: threeProcesses(strangersRelease)},
		{Name: "three processes at once", Run: threeProcesses(manyEnter)},
		{Name: "A1's scripts", Run: walk(naive.Counted, enterAgain)},
		{Name: "not counted", Expect: experiments.Sometimes, Run: walk(naive.Uncounted, enterAgain)},
	},
})

// enterAgain lets A enter, read, enter again and leave once; then B tries, and reads if it is in.
const enterAgain = "A A A A B B A A B B B B"

// acceptedRelease is noted of a release that must be refused and was not.
const acceptedRelease = "a release by who does not have the lock was accepted"

// reentered finds lost updates, and releases that must be refused and were not.
func reentered(trial []history.Event) []history.Violation {
	return append(history.Counter(trial), history.Noted(trial, acceptedRelease)...)
}

// threeProcesses opens v3 for three processes on one Redis.
func threeProcesses(run func(ctx context.Context, all []*client, r *resource) error) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		_, redis, err := single(ctx, t)
		if err != nil {
			return err
		}
		r := newResource(t, false)
		defer r.final()
		var all []*client
		for _, lane := range []string{"A", "B", "C"} {
			o, err := v3(t, redis, time.Minute)
			if err != nil {
				return err
			}
			all = append(all, newClient(t, lane, o.Strategy))
		}
		return run(ctx, all, r)
	}
}

func enteredOnce(ctx context.Context, all []*client, r *resource) error {
	a, b := all[0], all[1]
	return around(ctx, a, b, r, func(context.Context, *held) error { return nil })
}

func enteredTwice(ctx context.Context, all []*client, r *resource) error {
	a, b := all[0], all[1]
	return around(ctx, a, b, r, func(_ context.Context, outer *held) error { return inner(a, outer, nil) })
}

// around lets A read, do something, and write; B tries in between, and again when A is out.
func around(ctx context.Context, a, b *client, r *resource, something func(context.Context, *held) error) error {
	outer, err := a.acquire(ctx)
	if err != nil {
		return err
	}
	value := r.read(outer)
	if err := something(ctx, outer); err != nil {
		return err
	}
	if err := tries(ctx, b, r); err != nil && !errors.Is(err, lockstrategy.ErrTaken) {
		return err
	}
	r.write(outer, value+1) // if B was in, over what it wrote
	if err := outer.release(ctx); err != nil {
		return err
	}
	return tries(ctx, b, r)
}

// tries adds one if the lock is free.
func tries(ctx context.Context, c *client, r *resource) error {
	h, err := c.acquire(ctx, lockstrategy.TryOnce())
	if err != nil {
		return err
	}
	r.add(h)
	return h.release(ctx)
}

// inner enters again under the lease's context, does something, and leaves once. It is no hold of its own: what is
// recorded of it are notes.
func inner(c *client, outer *held, something func() error) error {
	ctx := outer.lease.Context()
	lease, err := c.strategy.Acquire(ctx, c.key, lockstrategy.TryOnce())
	if err != nil {
		return fmt.Errorf("the owner did not enter again: %w", err)
	}
	c.t.Note(c.lane, "enters again")
	if something != nil {
		if err := something(); err != nil {
			return err
		}
	}
	if err := lease.Release(ctx); err != nil {
		return err
	}
	c.t.Note(c.lane, "leaves once")
	return nil
}

// strangersRelease lets B, which had the lock before, release it again while A has it.
func strangersRelease(ctx context.Context, all []*client, r *resource) error {
	a, b, c := all[0], all[1], all[2]
	before, err := b.acquire(ctx)
	if err != nil {
		return err
	}
	if err := before.release(ctx); err != nil {
		return err
	}
	return around(ctx, a, c, r, func(ctx context.Context, _ *held) error {
		err := before.lease.Release(ctx)
		b.t.Note(b.lane, "releases again: "+reason(err))
		if !errors.Is(err, lockstrategy.ErrNotHeld) {
			b.t.Note(b.lane, acceptedRelease)
		}
		return nil
	})
}

// manyEnter lets every process add twice in each turn: once in the outer entry, around an inner one.
func manyEnter(ctx context.Context, all []*client, r *resource) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range all {
		group.Go(func() error {
			for range 20 {
				outer, err := c.acquire(ctx)
				if err != nil {
					return err
				}
				if err := inner(c, outer, func() error { r.add(outer); return nil }); err != nil {
					return err
				}
				r.add(outer)
				if err := outer.release(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
