package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/lockstrategy/articlelock"
)

var L02 = experiments.Experiment{
	ID:            "L02-setnx-then-expire",
	Articles:      experiments.Articles{"A0", "A2", "A3"},
	Claim:         "A crash between SETNX and EXPIRE locks the key for ever; one command, or one script, leaves no moment for that crash.",
	Level:         experiments.Basic,
	Schedule:      experiments.Schedule{Takes: 2 * time.Second},
	Check:         clients.Noted(steps.OrphanedLock.Mark()),
	Interleavings: clients.OrphanedLocks(articlelock.Compare, articlelock.SETNXScript, steps.V3, articlelock.SETNXThenEXPIRE),
	Variants: []experiments.Variant{
		{Name: "SET NX PX", Run: clients.Interleaving(articlelock.Compare, clients.DeadHolder)},
		{Name: "one script", Run: clients.Interleaving(articlelock.SETNXScript, clients.DeadHolder)},
		{Name: "two commands", Expect: experiments.Sometimes, Run: clients.Interleaving(articlelock.SETNXThenEXPIRE, clients.DeadHolder)},
	},
}
