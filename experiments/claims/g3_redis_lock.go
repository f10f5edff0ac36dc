package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "G3-redis-lock",
	Article: "A2",
	Claim:   "With the Redis lock exactly one driver wins the order.",
	Says:    "With SETNX and with Redisson exactly one driver gets the order, at either service.",
	Drawing: `
driver 1 at instance-1   [ read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2   waits                                   [ read: taken ]   "driver 1 has it"`,
	How: `
		20 drivers, ten for each of two instances, request one order simultaneously, with the Redis lock. The variant with the mutex proves that
		two drivers would win. The control grants by a conditional UPDATE.`,
	Anomaly: kit.LostUpdate,
	Takes:   4 * time.Second,
	Check:   history.Winners,
	Variants: []experiments.Variant{
		{Name: "conditional UPDATE", Run: kit.Grabs(kit.Service{Version: "v0"})},
		{Name: "process mutex", Expect: experiments.Sometimes, Strategy: "v2", Run: kit.Grabs(kit.Service{Version: "v2"})},
		{Name: "Redis lock", Strategy: "v3", Run: kit.Grabs(kit.Service{Version: "v3"})},
	},
})
