package claims

import (
	"time"

	"locklab/experiments"
)

var _ = register(experiments.Experiment{
	ID:      "G3-redis-lock",
	Article: "A2",
	Claim:   "With the Redis lock exactly one driver wins the order.",
	Says:    "With SETNX and with Redisson exactly one driver gets the order, whichever service they ask.",
	Drawing: `
driver 1 at instance-1   [ read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2   waits                                   [ read: taken ]   "driver 1 has it"`,
	How:     "20 drivers, ten for each of two instances, want one order at the same moment: with the mutex in the process as a proof that two would win, and with the Redis lock. The control grants by a conditional UPDATE.",
	Anomaly: lostUpdate,
	Takes:   4 * time.Second,
	Check:   twoWinners,
	Variants: []experiments.Variant{
		{Name: "conditional UPDATE", Run: grabs(service{version: "v0"})},
		{Name: "process mutex", Expect: experiments.Sometimes, Strategy: "v2", Run: grabs(service{version: "v2"})},
		{Name: "Redis lock", Strategy: "v3", Run: grabs(service{version: "v3"})},
	},
})
