package anatomy

import (
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lockstrategy/articlelock"
)

var L01 = Experiments.Add(lab.Experiment{
	ID:            "L01-no-expiry",
	Articles:      lab.Articles{"A0", "A1", "A2", "A3"},
	Claim:         "A holder that dies leaves the key locked: for ever without an expiry, and until its lease ends with one.",
	Level:         lab.Basic,
	Start:         true,
	Anomaly:       "orphaned lock",
	Schedule:      lab.Schedule{Takes: 3 * time.Second},
	Check:         clients.Noted(explore.OrphanedLock.Mark()),
	Interleavings: clients.OrphanedLocks(articlelock.Compare, explore.V3, articlelock.SETNX),
	Variants: []lab.Variant{
		{Name: "with an expiry", Strategy: "SET NX PX", Run: clients.Interleaving(articlelock.Compare, clients.DeadHolder)},
		{Name: "with an expiry, DEL", Strategy: "SET NX PX, DEL", Run: clients.Interleaving(articlelock.PlainDEL, clients.DeadHolder)},
		{Name: "v3's scripts", Strategy: "v3", Run: clients.Interleaving(explore.V3, clients.DeadHolder)},
		{
			Name: "SETNX alone", Expect: lab.Sometimes, Strategy: "naive SETNX",
			Run: clients.Interleaving(articlelock.SETNX, clients.DeadHolder),
		},
	},
})
