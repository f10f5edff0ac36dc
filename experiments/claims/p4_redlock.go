package claims

import (
	"time"

	"locklab/experiments"
)

var _ = register(experiments.Experiment{
	ID:      "P4-redlock",
	Article: "A4",
	Claim:   "RedLock over five nodes keeps every update, as long as no server fails.",
	Says:    "With RedLock, 666 requests at once on two instances end at 666.",
	Drawing: `
instance-1   [ lock on 3 of 5 nodes  GET → 0  SET 1  unlock on all ]
instance-2                                    waits                [ lock … GET → 1  SET 2 … ]`,
	How:     "666 requests at once, halved exactly between two instances: without a lock as a proof that the load would lose updates, and with RedLock over five independent nodes. The control counts with INCR.",
	Anomaly: lostUpdate,
	Takes:   5 * time.Second,
	Check:   lostViews,
	Variants: []experiments.Variant{
		{Name: "INCR", Run: views(service{version: "v0"})},
		{Name: "without a lock", Expect: experiments.Sometimes, Run: views(service{version: "v1"})},
		{Name: "five nodes", Strategy: "v4", Run: views(service{version: "v4"})},
	},
})
