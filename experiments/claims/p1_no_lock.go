package claims

import (
	"time"

	"locklab/experiments"
)

var _ = register(experiments.Experiment{
	ID:      "P1-no-lock",
	Article: "A4",
	Claim:   "Reading, adding one and writing without a lock loses updates.",
	Says:    "666 requests at once without a lock leave the counter far below 666.",
	Drawing: `
instance-1   GET → 0             SET 1
instance-2            GET → 0            SET 1     two views, counted once`,
	How:     "666 requests, halved exactly between two instances: one at a time, which loses nothing, and all at once.",
	Anomaly: lostUpdate,
	Takes:   3 * time.Second,
	Check:   lostViews,
	Variants: []experiments.Variant{
		{Name: "one request at a time", Run: views(service{version: "v1", inTurn: true})},
		{Name: "666 at once", Expect: experiments.Sometimes, Run: views(service{version: "v1"})},
	},
})
