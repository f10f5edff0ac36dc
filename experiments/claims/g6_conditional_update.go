package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "G6-conditional-update",
	Article: "A2",
	Claim:   "An UPDATE with the condition that the order is open has one winner by itself: no lock is needed.",
	Says:    "The order is read, compared and written in three steps. So a lock goes around them.",
	Drawing: `
driver 1 at instance-1   UPDATE … WHERE status = 'open' → 1 row    "you have it"
driver 2 at instance-2   UPDATE … WHERE status = 'open' → 0 rows   "driver 1 has it"`,
	How: `
		20 drivers, ten for each of two instances, request one order simultaneously. One variant reads, thinks and writes without a lock,
		another uses one conditional UPDATE. The control reads, thinks and writes for one driver after the other.`,
	Anomaly: kit.LostUpdate,
	Takes:   4 * time.Second,
	Check:   history.Winners,
	Variants: []experiments.Variant{
		{Name: "read and write, one driver at a time", Run: kit.Grabs(kit.Service{Version: "v1", Sequential: true})},
		{Name: "read and write, 20 simultaneously", Expect: experiments.Sometimes, Run: kit.Grabs(kit.Service{Version: "v1"})},
		{Name: "conditional UPDATE, 20 simultaneously", Run: kit.Grabs(kit.Service{Version: "v0"})},
	},
})
