package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G4 = services.LockedGrabs(experiments.Experiment{
	ID:       "G4-redlock",
	Title:    "RedLock",
	Articles: experiments.Articles{"A2"},
	Claim:    "With RedLock over five nodes exactly one driver wins the order.",
	Says:     "A2 puts RedLock around the same work. Its algorithm goes on when a node is not available. A2 reports no result.",
	Lesson: experiments.Lesson{
		Question: `
			The lock of an order is now granted by a majority of five independent Redis nodes. Twenty drivers at two services compete for it. Can
			two of them have a majority in the same moment?`,
		Predict: "(a) No. (b) Yes, when they reach the nodes in a different sequence. (c) No driver ever wins, because the votes are split.",
		Why: `
			(a). Two majorities of five have a node in common, and that node grants the key to one client. When the votes are split, no client has
			three. Each then releases what it has, and tries again later. So a split costs time, and it does not cost safety. One driver wins,
			and the others read which one.`,
		Fix: `
			To survive the failure of two nodes, use five of them. Bound the time for each node far below the lease, so that a dead node does not
			use up the lease. Both are in A2's description.`,
		Limits: `
			All nodes work here. A node that forgets its vote, or whose clock jumps, lets a second majority form (F06, F07). A2's own listing
			names one node twice (F08). RedLock issues no fencing token, so that the order cannot refuse a late write (L11).`,
		Next: "F05-redlock-minority stops nodes, and F08-redlock-same-node-twice runs A2's list. P4-redlock puts more load on the same lock. " +
			"By hand: `app demo --versions v4`.",
		Level: experiments.Medium,
	},
	Drawing: `
driver 1 at instance-1   [ 3 of 5 nodes: read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2   waits                                                 [ 3 of 5: read: taken ]`,
	How: `
		20 drivers, ten for each of two instances, request one order simultaneously, with RedLock over five independent nodes. The variant with
		the mutex proves that two drivers would win. The control grants by a conditional UPDATE.`,
	Schedule: experiments.Schedule{Takes: 5 * time.Second},
}, experiments.Variant{Name: "RedLock", Strategy: "v4", Run: services.Grabs(services.Service{Version: "v4"})})
