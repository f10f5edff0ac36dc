package claims

import (
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
		{Name: "short work", Run: kit.WorkBesideWaiter(workLease, 0, lockstrategy.LeaseFor(time.Minute))},
		{
			Name: "long work", Expect: experiments.Sometimes,
			Run: kit.WorkBesideWaiter(workLease, 3*workLease, lockstrategy.LeaseFor(workLease)),
		},
		{Name: "long work, renewed", Strategy: "v3", Run: kit.WorkBesideWaiter(workLease, 3*workLease)},
		{
			Name: "long work: SET NX PX", Expect: experiments.Sometimes, Strategy: "SET NX PX",
			Run: kit.Interleaving(naive.Compare, "A A … B B B B A A"),
		},
	},
})

// workLease is the lease in which the work is measured.
const workLease = 300 * time.Millisecond
