package claims

import (
	"time"

	"locklab/experiments"
)

var _ = register(experiments.Experiment{
	ID:      "P2-process-mutex",
	Article: "A4",
	Claim:   "A mutex in the process protects one instance and not two; and beside another instance not even its own values stay apart.",
	Says:    "With synchronized, 666 requests on two instances leave the counter at 391: no value repeats inside one instance, and both write the same values.",
	Erratum: "A4 says that no value repeats inside one process. Beside another process some do: the other sets the counter back with a number that it read before, and the same values are written again.",
	Drawing: `
instance-1   [ GET → 7   SET 8 ] [ GET → 8   SET 9 ]                 [ GET → 8   SET 9 ]
instance-2        [ GET → 7                             SET 8 ]       9 again, in one process`,
	How:     "666 requests at once: at one instance, at two of them, and at two of which only the first is looked at.",
	Anomaly: lostUpdate,
	Takes:   5 * time.Second,
	Breach:  lostViews,
	Arms: []experiments.Arm{
		{Name: "one instance", Run: views(service{version: "v2", instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Strategy: "v2", Run: views(service{version: "v2"})},
		{Name: "two instances, the values of one", Expect: experiments.Sometimes, Run: viewsOfOne(service{version: "v2"})},
	},
})
