package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L05-lease-overrun",
	Article: "A0, A2",
	Claim: `
		Work longer than the lease puts two holders into the section; renewal at a third of the lease prevents it.`,
	Says: `
		Comparing values at the release does not help a holder whose lease has ended: another client is in the section already. Extending the
		lease while the work goes on does.`,
	Drawing: `
A  ├─ lease ──┤            (works on, without looking)          write 1
B             ├─ lease: read 0, write 1 ─┤                       ↑ B's update is lost`,
	How: `
		A takes the lock with an explicit lease, and reads. It works on without looking at its lease's context until B has held the lock; then
		it writes. With renewal it works for three leases. SET NX PX has no renewal, and no context to look at.`,
	Anomaly: "lease expired during work",
	Takes:   4 * time.Second,
	Check:   history.Counter,
	Variants: []experiments.Variant{
		{Name: "short work", Run: kit.OnRedis(shortWork)},
		{Name: "long work", Expect: experiments.Sometimes, Run: kit.OnRedis(longWork)},
		{Name: "long work, renewed", Strategy: "v3", Run: kit.OnRedis(renewedWork)},
		{
			Name: "long work: SET NX PX", Expect: experiments.Sometimes, Strategy: "SET NX PX",
			Run: kit.Interleaving(naive.Compare, "A A … B B B B A A"),
		},
	},
})

// workLease is the lease in which the work is measured.
const workLease = 300 * time.Millisecond

func shortWork(ctx context.Context, x *kit.Redis) {
	r := kit.NewResource(x.Trial, false)
	for _, name := range []string{"A", "B"} {
		x.NewClient(name, workLease).Update(ctx, r, lockstrategy.LeaseFor(time.Minute))
	}
}

func longWork(ctx context.Context, x *kit.Redis) {
	r := kit.NewResource(x.Trial, false)
	a := x.NewClient("A", workLease).Acquire(ctx, lockstrategy.LeaseFor(workLease))
	value := r.Read(a)
	b := x.NewClient("B", workLease).Acquire(ctx) // when A's lease is over
	r.Add(b)
	r.Write(a, value+1) // it has not looked
	x.Must(a.AwaitLoss(ctx))
	b.Release(ctx)
}

func renewedWork(ctx context.Context, x *kit.Redis) {
	r := kit.NewResource(x.Trial, false)
	a := x.NewClient("A", workLease).Acquire(ctx)
	waitForB := x.Go(func() { x.NewClient("B", workLease).Update(ctx, r) })
	value := r.Read(a)
	select {
	case <-time.After(3 * workLease): // that is the work
	case <-a.Lease.Context().Done():
	}
	r.Write(a, value+1)
	a.Release(ctx)
	waitForB()
}
