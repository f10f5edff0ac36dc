package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "L07-explicit-lease",
	Article: "A3",
	Claim:   "A lock with an explicit lease is not renewed: work that is longer is no longer protected.",
	Says: `
		The lock is taken for three seconds, and beside that the watchdog extends it as long as the holder lives.`,
	Errata: []experiments.Erratum{{Article: "A3", What: `
		A3 takes the lock with lock(2, 3, SECOND), which Redisson does not have. A lease that is named there, as in lock(3, SECONDS), starts no
		watchdog, which the same article describes as always on.`}},
	Drawing: `
A  ├─ explicit lease ─┤            (still at work)        write 1
B  waits              ├─ read 0, write 1 ─┤                ↑ B's update is lost
A  ├─ no lease named: renewed, renewed, renewed ── write 1 ─┤
B  waits                                                    ├─ read 1, write 2 ─┤`,
	How: `
		A takes the lock, reads, and works for two leases, or until B has been in the section; then it writes. B waits for the lock from the
		beginning. The variants differ in one argument of A's: the lease.`,
	Takes: 5 * time.Second,
	Check: history.Counter,
	Variants: []experiments.Variant{
		{Name: "no lease named", Run: kit.WorkBesideWaiter(namedLease, 2*namedLease)},
		{
			Name: "a lease named", Expect: experiments.Sometimes,
			Run: kit.WorkBesideWaiter(namedLease, 2*namedLease, lockstrategy.LeaseFor(namedLease)),
		},
	},
})

// namedLease is both leases: the one that is named, and the one that is renewed.
const namedLease = 500 * time.Millisecond
