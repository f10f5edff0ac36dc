package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L01-no-expiry",
	Article: "A0, A1, A2, A3",
	Claim: `
		A holder that dies without an expiry on its lock locks the key for ever; with an expiry, until its lease ends.`,
	Says: `
		The first lock of each article is SETNX and DEL. A process that is restarted, or a machine that fails, in the middle of the work never
		sends the DEL. The remedy is an expiry.`,
	Drawing: `
A  SETNX → 1  †
B                    (a lease later)  SETNX → 0   and so for every client, for ever`,
	How: `
		A takes the lock and dies before it has read. Time passes until every expiry is over. B tries. At the end the lock is examined: it
		exists, has no expiry, and no living client holds it.`,
	Anomaly:       "orphaned lock",
	Takes:         time.Second,
	Interleavings: kit.OrphanedLocks(naive.Compare, steps.V3, naive.SETNX),
	Check:         kit.Noted(string(steps.OrphanedLock)),
	Variants: []experiments.Variant{
		{Name: "with an expiry", Strategy: "SET NX PX", Run: kit.Interleaving(naive.Compare, kit.DeadHolder)},
		{Name: "v3's scripts", Strategy: "v3", Run: kit.Interleaving(steps.V3, kit.DeadHolder)},
		{Name: "SETNX alone", Expect: experiments.Sometimes, Strategy: "naive SETNX", Run: kit.Interleaving(naive.SETNX, kit.DeadHolder)},
	},
})
