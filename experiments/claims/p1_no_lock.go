package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
)

var _ = register(experiments.Experiment{
	ID:      "P1-no-lock",
	Article: "A4",
	Claim:   "Reading, adding one and writing without a lock loses updates.",
	Says:    "666 simultaneous requests without a lock leave the counter far below 666.",
	Drawing: `
instance-1   GET → 0             SET 1
instance-2            GET → 0            SET 1     two views, counted once`,
	How:     "666 requests go to two instances in equal parts: one at a time, which loses nothing, and simultaneously.",
	Anomaly: kit.LostUpdate,
	Takes:   3 * time.Second,
	Check:   kit.LostViews,
	Variants: []experiments.Variant{
		{Name: "one request at a time", Run: kit.PageViews(kit.Service{Version: "v1", Sequential: true})},
		{Name: "666 simultaneously", Expect: experiments.Sometimes, Run: kit.PageViews(kit.Service{Version: "v1"})},
	},
})
