package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L02-setnx-then-expire",
	Article: "A0, A2, A3",
	Claim: `
		A crash between SETNX and EXPIRE locks the key for ever. One command, or one script, leaves no moment for that crash.`,
	Says: `
		The second lock of the articles sets the expiry by a second command. That is L01 in a smaller window. A0 and A2 say so, and go on to SET
		with NX and an expiry, or to a script.`,
	Drawing: `
A  SETNX → 1   †  (EXPIRE never comes)
B                    (a lease later)  SETNX → 0   and so for every client, for ever`,
	How: `
		A dies after its first command. With two commands that is between SETNX and EXPIRE. Time passes, and B tries.`,
	Takes:         time.Second,
	Interleavings: kit.OrphanedLocks(naive.Compare, naive.SETNXScript, steps.V3, naive.SETNXThenEXPIRE),
	Check:         kit.Noted(string(steps.OrphanedLock)),
	Variants: []experiments.Variant{
		{Name: "SET NX PX", Run: kit.Interleaving(naive.Compare, kit.DeadHolder)},
		{Name: "one script", Run: kit.Interleaving(naive.SETNXScript, kit.DeadHolder)},
		{Name: "two commands", Expect: experiments.Sometimes, Run: kit.Interleaving(naive.SETNXThenEXPIRE, kit.DeadHolder)},
	},
})
