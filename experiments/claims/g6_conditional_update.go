package claims

import (
	"time"

	"locklab/experiments"
)

var _ = register(experiments.Experiment{
	ID:      "G6-conditional-update",
	Article: "A2",
	Claim:   "An UPDATE with the condition that the order is open has one winner by itself: no lock is needed.",
	Says:    "The order is read, compared and written in three steps, which is why a lock goes around them.",
	Drawing: `
driver 1 at instance-1   UPDATE … WHERE status = 'open' → 1 row    "you have it"
driver 2 at instance-2   UPDATE … WHERE status = 'open' → 0 rows   "driver 1 has it"`,
	How:     "20 drivers, ten for each of two instances, want one order at the same moment: without a lock by read, think and write, and by one conditional UPDATE. The control reads, thinks and writes for one driver after the other.",
	Anomaly: lostUpdate,
	Takes:   4 * time.Second,
	Check:   twoWinners,
	Variants: []experiments.Variant{
		{Name: "read and write, one driver at a time", Run: grabs(service{version: "v1", inTurn: true})},
		{Name: "read and write, 20 at once", Expect: experiments.Sometimes, Run: grabs(service{version: "v1"})},
		{Name: "conditional UPDATE, 20 at once", Run: grabs(service{version: "v0"})},
	},
})
