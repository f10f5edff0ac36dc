package anatomy

import (
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lockstrategy/articlelock"
)

var L02 = Experiments.Add(lab.Experiment{
	ID:            "L02-setnx-then-expire",
	Articles:      lab.Articles{"A0", "A2", "A3"},
	Claim:         "A crash between SETNX and EXPIRE locks the key for ever; one command, or one script, leaves no moment for that crash.",
	Level:         lab.Basic,
	Schedule:      lab.Schedule{Takes: 2 * time.Second},
	Check:         clients.Noted(explore.OrphanedLock.Mark()),
	Interleavings: clients.OrphanedLocks(articlelock.Compare, articlelock.SETNXScript, explore.V3, articlelock.SETNXThenEXPIRE),
	Variants: []lab.Variant{
		{Name: "SET NX PX", Run: clients.Interleaving(articlelock.Compare, clients.DeadHolder)},
		{Name: "one script", Run: clients.Interleaving(articlelock.SETNXScript, clients.DeadHolder)},
		{Name: "two commands", Expect: lab.Sometimes, Run: clients.Interleaving(articlelock.SETNXThenEXPIRE, clients.DeadHolder)},
	},
})
