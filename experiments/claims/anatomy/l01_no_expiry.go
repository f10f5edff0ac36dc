package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/lockstrategy/articlelock"
)

var L01 = experiments.Experiment{
	ID:            "L01-no-expiry",
	Articles:      experiments.Articles{"A0", "A1", "A2", "A3"},
	Claim:         "A holder that dies leaves the key locked: for ever without an expiry, and until its lease ends with one.",
	Level:         experiments.Basic,
	Start:         true,
	Anomaly:       "orphaned lock",
	Schedule:      experiments.Schedule{Takes: 3 * time.Second},
	Check:         clients.Noted(steps.OrphanedLock.Mark()),
	Interleavings: clients.OrphanedLocks(articlelock.Compare, steps.V3, articlelock.SETNX),
	Variants: []experiments.Variant{
		{Name: "with an expiry", Strategy: "SET NX PX", Run: clients.Interleaving(articlelock.Compare, clients.DeadHolder)},
		{Name: "with an expiry, DEL", Strategy: "SET NX PX, DEL", Run: clients.Interleaving(articlelock.PlainDEL, clients.DeadHolder)},
		{Name: "v3's scripts", Strategy: "v3", Run: clients.Interleaving(steps.V3, clients.DeadHolder)},
		{
			Name: "SETNX alone", Expect: experiments.Sometimes, Strategy: "naive SETNX",
			Run: clients.Interleaving(articlelock.SETNX, clients.DeadHolder),
		},
	},
}
