package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "G2-process-mutex",
	Article: "A2",
	Claim:   "With a mutex in the process one instance grants an order once; two instances grant it twice.",
	Says:    "With a lock of the JVM each of the two services tells one driver that the order is theirs.",
	Drawing: `
driver 1 at instance-1   [ read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2     [ read: open   …thinks…   write: mine ]   "you have it"
driver 3 at instance-1   waits                                   [ read: taken ]`,
	How: `
		20 drivers request one order simultaneously, at one instance and at two. Between reading and writing an instance thinks for 100 ms.`,
	Anomaly: kit.LostUpdate,
	Takes:   3 * time.Second,
	Check:   history.Winners,
	Variants: []experiments.Variant{
		{Name: "one instance", Run: kit.Grabs(kit.Service{Version: "v2", Instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Strategy: "v2", Run: kit.Grabs(kit.Service{Version: "v2"})},
	},
})
