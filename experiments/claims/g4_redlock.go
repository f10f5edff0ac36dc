package claims

import (
	"time"

	"locklab/experiments"
)

var _ = register(experiments.Experiment{
	ID:      "G4-redlock",
	Article: "A2",
	Claim:   "With RedLock over five nodes exactly one driver wins the order.",
	Says:    "With RedLock exactly one driver gets the order, whichever service they ask.",
	Drawing: `
driver 1 at instance-1   [ 3 of 5 nodes: read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2   waits                                                 [ 3 of 5: read: taken ]`,
	How:     "20 drivers, ten for each of two instances, want one order at the same moment: with the mutex in the process as a proof that two would win, and with RedLock over five independent nodes. The control grants by a conditional UPDATE.",
	Anomaly: lostUpdate,
	Takes:   5 * time.Second,
	Check:   twoWinners,
	Variants: []experiments.Variant{
		{Name: "conditional UPDATE", Run: grabs(service{version: "v0"})},
		{Name: "process mutex", Expect: experiments.Sometimes, Strategy: "v2", Run: grabs(service{version: "v2"})},
		{Name: "RedLock", Strategy: "v4", Run: grabs(service{version: "v4"})},
	},
})
