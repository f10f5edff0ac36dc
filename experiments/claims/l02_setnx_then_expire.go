package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L02-setnx-then-expire",
	Article: "A0, A2, A3",
	Claim:   "A crash between SETNX and EXPIRE locks the key for ever; one command, or one script, leaves no place for it.",
	Says:    "The second lock of the articles sets the expiry by a command of its own. That is L01 again, in a smaller window: A0 and A2 say so, and go on to SET with NX and an expiry, or to a script.",
	Drawing: `
A  SETNX → 1   †  (EXPIRE never comes)
B                    (a lease later)  SETNX → 0   and so for everybody, for ever`,
	How:           "A dies after its first command: with two of them that is between SETNX and EXPIRE. Time passes, and B tries.",
	Takes:         time.Second,
	Interleavings: orphans(naive.Compare, naive.SETNXScript, steps.V3, naive.SETNXThenEXPIRE),
	Check:         orphaned,
	Variants: []experiments.Variant{
		{Name: "SET NX PX", Run: walk(naive.Compare, deadHolder)},
		{Name: "one script", Run: walk(naive.SETNXScript, deadHolder)},
		{Name: "two commands", Expect: experiments.Sometimes, Run: walk(naive.SETNXThenEXPIRE, deadHolder)},
	},
})
