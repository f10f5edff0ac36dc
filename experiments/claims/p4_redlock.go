package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
)

var _ = register(experiments.Experiment{
	ID:      "P4-redlock",
	Article: "A4",
	Claim:   "RedLock over five nodes loses no update, as long as no server fails.",
	Says:    "With RedLock, 666 simultaneous requests on two instances end at 666.",
	Drawing: `
instance-1   [ lock on 3 of 5 nodes  GET → 0  SET 1  unlock on all ]
instance-2                                    waits                [ lock … GET → 1  SET 2 … ]`,
	How: `
		666 simultaneous requests go to two instances in equal parts, with RedLock over five independent nodes. The variant without a lock
		proves that the load would lose updates. The control counts with INCR.`,
	Anomaly: kit.LostUpdate,
	Takes:   5 * time.Second,
	Check:   kit.LostViews,
	Variants: []experiments.Variant{
		{Name: "INCR", Run: kit.PageViews(kit.Service{Version: "v0"})},
		{Name: "without a lock", Expect: experiments.Sometimes, Run: kit.PageViews(kit.Service{Version: "v1"})},
		{Name: "five nodes", Strategy: "v4", Run: kit.PageViews(kit.Service{Version: "v4"})},
	},
})
