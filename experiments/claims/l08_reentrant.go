package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/experiments/steps"
	"locklab/experiments/worker"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L08-reentrant",
	Article: "A0, A1, A3",
	Claim: `
		The owner enters again, is counted, and has left only at zero. Other clients stay out until then, and a release by a non-owner is
		refused.`,
	Says: `
		A1's lock is a hash with the owner and how often it has entered. Its release script answers 0 while the owner is still in, and nil to a
		client that does not hold the lock. A0 lists re-entrance among the requirements of a lock.`,
	Errata: []experiments.Erratum{{Article: "A3", What: `
		A3 explains re-entrance by "A holds it, its time is over, A can take it again": that is expiry. Here no time is over.`}},
	Drawing: `
A  enter (1)  read 0   enter (2)   leave (1)            write 1   leave (0)
B                                            refused                        enter   read 1  write 2`,
	How: `
		A enters, reads, enters again under its lease's context and leaves once. B tries in that moment. Then A writes. If B got in, both write
		the same value. In another variant three processes do so simultaneously, twenty times each. (A process here is a client with a cohort of
		its own, which makes it one to Redis. All of them run in the lab's process.)`,
	Takes: 2 * time.Second,
	Check: reentered,
	Interleavings: []experiments.Interleavings{
		{Lock: naive.Counted, Bounds: steps.Bounds{Clients: "ABC", Deaths: 1}, Violation: steps.LostUpdate},
		{Lock: naive.Uncounted, Bounds: steps.Bounds{Clients: "AB"}, Violation: steps.LostUpdate, Expect: experiments.Sometimes},
	},
	Variants: []experiments.Variant{
		{Name: "entered once", Run: threeProcesses(enteredOnce)},
		{Name: "entered twice", Run: threeProcesses(enteredTwice)},
		{Name: "a non-owner's release", Run: threeProcesses(nonOwnersRelease)},
		{Name: "three processes simultaneously", Run: threeProcesses(manyEnter)},
		{Name: "A1's scripts", Run: kit.Interleaving(naive.Counted, enterAgain)},
		{Name: "not counted", Expect: experiments.Sometimes, Run: kit.Interleaving(naive.Uncounted, enterAgain)},
	},
})

// enterAgain lets A enter, read, enter again and leave once; then B tries, and reads if it is in.
const enterAgain = "A A A A B B A A B B B B"

// acceptedRelease is noted of a release that must be refused and was not.
const acceptedRelease = "a release by a non-owner was accepted"

// reentered finds lost updates, and releases that must be refused and were not.
var reentered = kit.Any(history.Counter, kit.Noted(acceptedRelease))

// reentrants are three processes on one Redis, and the resource.
type reentrants struct {
	*experiments.Trial
	a, b, c  *kit.Client
	resource *kit.Resource
}

func threeProcesses(scenario func(ctx context.Context, x reentrants)) experiments.Scenario {
	return kit.OnRedis(func(ctx context.Context, x *kit.Redis) {
		a, b, c := x.NewClient("A", time.Minute), x.NewClient("B", time.Minute), x.NewClient("C", time.Minute)
		scenario(ctx, reentrants{x.Trial, a, b, c, kit.NewResource(x.Trial, false)})
	})
}

func enteredOnce(ctx context.Context, x reentrants) { x.around(ctx, x.b, func(*kit.Holder) {}) }

func enteredTwice(ctx context.Context, x reentrants) {
	x.around(ctx, x.b, func(outer *kit.Holder) { x.enterAgain(outer, nil) })
}

// around lets A read, do something, and write; other tries in between, and again when A has left.
func (x reentrants) around(ctx context.Context, other *kit.Client, something func(outer *kit.Holder)) {
	outer := x.a.Acquire(ctx)
	value := x.resource.Read(outer)
	something(outer)
	if h, err := other.TryAcquire(ctx, lockstrategy.TryOnce()); err == nil {
		x.resource.Add(h)
		h.Release(ctx)
	} else if !errors.Is(err, lockstrategy.ErrTaken) {
		x.Must(err)
	}
	x.resource.Write(outer, value+1) // if other was in, over what it wrote
	outer.Release(ctx)
	other.Update(ctx, x.resource, lockstrategy.TryOnce())
}

// enterAgain acquires once more under the lease's context, does something, and releases once. Notes record it: it is no
// holder of its own.
func (x reentrants) enterAgain(outer *kit.Holder, something func()) {
	ctx := outer.Lease.Context()
	lease, err := outer.Lock.Acquire(ctx, outer.Key, lockstrategy.TryOnce())
	if err != nil {
		x.Must(fmt.Errorf("the owner did not enter again: %w", err))
	}
	outer.Note("enters again")
	if something != nil {
		something()
	}
	x.Must(lease.Release(ctx))
	outer.Note("leaves once")
}

// nonOwnersRelease lets B, which held the lock before, release it again while A holds it.
func nonOwnersRelease(ctx context.Context, x reentrants) {
	before := x.b.Acquire(ctx)
	before.Release(ctx)
	x.around(ctx, x.c, func(*kit.Holder) {
		err := before.Lease.Release(ctx)
		x.b.Note("releases again: " + worker.Reason(err))
		if !errors.Is(err, lockstrategy.ErrNotHeld) {
			x.b.Note(acceptedRelease)
		}
	})
}

// manyEnter lets every process add twice each time: once in the outer entry, around an inner one.
func manyEnter(ctx context.Context, x reentrants) {
	var waits []func()
	for _, c := range []*kit.Client{x.a, x.b, x.c} {
		waits = append(waits, x.Go(func() {
			for range 20 {
				outer := c.Acquire(ctx)
				x.enterAgain(outer, func() { x.resource.Add(outer) })
				x.resource.Add(outer)
				outer.Release(ctx)
			}
		}))
	}
	for _, wait := range waits {
		wait()
	}
}
