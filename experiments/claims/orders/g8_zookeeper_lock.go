package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G8 = services.LockedGrabs(experiments.Experiment{
	ID:       "G8-zookeeper-lock",
	Title:    "One order with the lock in ZooKeeper",
	Articles: experiments.Articles{"A2", "A3"},
	Claim:    "With the lock in ZooKeeper exactly one driver wins the order.",
	Says: `
		A lock outside of the services decides which driver gets the order. A2 and A3 name ZooKeeper beside Redis, and do not try it.`,
	Lesson: experiments.Lesson{
		Question: `
			The lock of an order is now a queue of nodes in ZooKeeper. 20 drivers at two services want the order simultaneously. How many of them
			win, and who is served first?`,
		Predict: `
			(a) One wins: the service whose node has the lowest number goes first. (b) One wins, and which service goes first is luck at each
			release. (c) One for each service.`,
		Why: `
			(a). The nodes are numbered by the server in the order of the requests. The first in the queue holds the lock, and the others wait for
			the deletion of the node before their own. The driver that is served first reads an open order and writes its name. All later ones
			read that it is taken.`,
		Fix: `
			Read again after the lock is granted: what was read before may be old. Use one key for each order, so that drivers who want
			different orders do not wait for each other.`,
		Limits: `
			No server fails, and no instance is paused. The order also refuses a write with an old fencing token, so the run does not show the
			lock alone. A conditional UPDATE would decide without a lock (G6).`,
		Next:  "G3-redis-lock does the same in Redis. F10-zookeeper-leader kills the leader. By hand: `app demo --versions v6`.",
		Level: experiments.Basic,
	},
	Drawing: `
driver 1 at instance-1   [ node 1   read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2   node 2 waits                                     [ read: taken ]   "driver 1 has it"`,
	How: `
		20 drivers, ten for each of two instances, request one order simultaneously, with the lock in ZooKeeper. The variant with the mutex
		proves that two drivers would win. The control grants by a conditional UPDATE.`,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.ZooKeeper}, Takes: 8 * time.Second},
}, experiments.Variant{Name: "ZooKeeper", Strategy: "v6", Trials: 1, Run: services.Grabs(services.Service{Version: "v6"})})
