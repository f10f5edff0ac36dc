package anatomy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/articlelock"
)

var L08 = Experiments.Add(lab.Experiment{
	ID:       "L08-reentrant",
	Articles: lab.Articles{"A0", "A1", "A3"},
	Claim: `
		An owner may enter its lock again: other clients stay out until it has left as often, and a release too many is refused.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 3 * time.Second},
	Check:    reentered,
	Interleavings: []lab.Interleavings{
		{Lock: articlelock.Counted, Bounds: explore.Bounds{Clients: "ABC", Deaths: 1}, Violation: explore.LostUpdate},
		{Lock: articlelock.Uncounted, Bounds: explore.Bounds{Clients: "AB"}, Violation: explore.LostUpdate, Expect: lab.Sometimes},
	},
	Variants: []lab.Variant{
		{Name: "entered once", Run: threeProcesses(enteredOnce)},
		{Name: "entered twice", Run: threeProcesses(enteredTwice)},
		{Name: "a non-owner's release", Run: threeProcesses(nonOwnersRelease)},
		{Name: "three processes simultaneously", Run: threeProcesses(manyEnter)},
		{Name: "A1's scripts", Run: clients.Interleaving(articlelock.Counted, enterAgain)},
		{Name: "not counted", Expect: lab.Sometimes, Run: clients.Interleaving(articlelock.Uncounted, enterAgain)},
	},
})

// enterAgain lets A enter, read, enter again and leave once; then B tries, and reads if it is in.
const enterAgain = "A A A A B B A A B B B B"

// acceptedRelease is noted of a release that must be refused and was not.
var acceptedRelease = history.Mark{Name: "a release by a non-owner was accepted"}

// reentered finds lost updates, and releases that must be refused and were not.
var reentered = clients.Any(history.Counter, clients.Noted(acceptedRelease))

// reentrants are three processes on one Redis, and the resource.
type reentrants struct {
	*lab.Trial
	a, b, c  *clients.Client
	resource *clients.Resource
}

func threeProcesses(scenario func(ctx context.Context, x reentrants)) lab.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		a, b, c := x.NewClient("A", time.Minute), x.NewClient("B", time.Minute), x.NewClient("C", time.Minute)
		scenario(ctx, reentrants{x.Trial, a, b, c, clients.NewResource(x.Trial, false)})
	})
}

func enteredOnce(ctx context.Context, x reentrants) {
	x.around(ctx, x.b, func(*clients.LocalHolder) {})
}

func enteredTwice(ctx context.Context, x reentrants) {
	x.around(ctx, x.b, func(outer *clients.LocalHolder) { x.enterAgain(outer, nil) })
}

// around lets A read, do something, and write; other tries in between, and again when A has left.
func (x reentrants) around(ctx context.Context, other *clients.Client, something func(outer *clients.LocalHolder)) {
	outer := x.a.Acquire(ctx)
	value := x.resource.Read(outer)
	something(outer)
	other.UpdateOnce(ctx, x.resource)
	x.resource.Write(outer, value+1) // if other was in, over what it wrote
	outer.Release(ctx)
	other.Update(ctx, x.resource, lockstrategy.TryOnce())
}

// enterAgain acquires once more under the lease's context, does something, and releases once. Notes record it: it is no
// holder of its own.
func (x reentrants) enterAgain(outer *clients.LocalHolder, something func()) {
	ctx := outer.Lease.Context()
	lease, err := outer.Client.Lock.Acquire(ctx, outer.Key, lockstrategy.TryOnce())
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
	x.around(ctx, x.c, func(*clients.LocalHolder) {
		err := before.Lease.Release(ctx)
		x.Note(x.b.Name, "releases again: "+clients.Reason(err))
		if !errors.Is(err, lockstrategy.ErrNotHeld) {
			x.Mark(x.b.Name, acceptedRelease)
		}
	})
}

// manyEnter lets every process add twice each time: once in the outer entry, around an inner one.
func manyEnter(ctx context.Context, x reentrants) {
	all := []*clients.Client{x.a, x.b, x.c}
	x.GoEach(len(all), func(i int) {
		for range 20 {
			outer := all[i].Acquire(ctx)
			x.enterAgain(outer, func() { x.resource.Add(outer) })
			x.resource.Add(outer)
			outer.Release(ctx)
		}
	})()
}
