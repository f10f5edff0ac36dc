package claims

import (
	"time"

	"locklab/experiments"
)

var _ = register(experiments.Experiment{
	ID:      "G1-no-lock",
	Article: "A2",
	Claim:   "Without a lock each instance grants the same order, and so does one instance alone, again and again.",
	Says:    "The order is read, and if it is open it is set to taken; with nothing around that, drivers at both ports get it.",
	Drawing: `
driver 1 at instance-1   read: open   …thinks…   write: mine   "you have it"
driver 2 at instance-2     read: open   …thinks…   write: mine   "you have it"`,
	How:     "20 drivers, ten for each instance, want one order at the same moment; between reading and writing an instance thinks for 100 ms. The control lets them ask one after the other.",
	Anomaly: lostUpdate,
	Takes:   4 * time.Second,
	Breach:  twoWinners,
	Arms: []experiments.Arm{
		{Name: "one driver at a time", Run: grabs(service{version: "v1", inTurn: true})},
		{Name: "one instance", Expect: experiments.Sometimes, Run: grabs(service{version: "v1", instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Run: grabs(service{version: "v1"})},
	},
})
