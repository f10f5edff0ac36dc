package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "G4-redlock",
	Article: "A2",
	Claim:   "With RedLock over five nodes exactly one driver wins the order.",
	Says:    "With RedLock exactly one driver gets the order, at either service.",
	Drawing: `
driver 1 at instance-1   [ 3 of 5 nodes: read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2   waits                                                 [ 3 of 5: read: taken ]`,
	How: `
		20 drivers, ten for each of two instances, request one order simultaneously, with RedLock over five independent nodes. The variant with
		the mutex proves that two drivers would win. The control grants by a conditional UPDATE.`,
	Anomaly: kit.LostUpdate,
	Takes:   5 * time.Second,
	Check:   history.Winners,
	Variants: []experiments.Variant{
		{Name: "conditional UPDATE", Run: kit.Grabs(kit.Service{Version: "v0"})},
		{Name: "process mutex", Expect: experiments.Sometimes, Strategy: "v2", Run: kit.Grabs(kit.Service{Version: "v2"})},
		{Name: "RedLock", Strategy: "v4", Run: kit.Grabs(kit.Service{Version: "v4"})},
	},
})
