package claims

import (
	"time"

	"locklab/experiments"
)

var _ = register(experiments.Experiment{
	ID:      "G2-process-mutex",
	Article: "A2",
	Claim:   "With a mutex in the process one instance grants an order once; two instances grant it twice.",
	Says:    "With a lock of the JVM a driver of each of the two services is told that the order is theirs.",
	Drawing: `
driver 1 at instance-1   [ read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2     [ read: open   …thinks…   write: mine ]   "you have it"
driver 3 at instance-1   waits                                   [ read: taken ]`,
	How:     "20 drivers want one order at the same moment, at one instance and at two; between reading and writing an instance thinks for 100 ms.",
	Anomaly: lostUpdate,
	Takes:   3 * time.Second,
	Check:   twoWinners,
	Variants: []experiments.Variant{
		{Name: "one instance", Run: grabs(service{version: "v2", instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Strategy: "v2", Run: grabs(service{version: "v2"})},
	},
})
