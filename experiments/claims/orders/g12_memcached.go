package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G12 = services.LockedGrabs(experiments.Experiment{
	ID:       "G12-memcached",
	Title:    "The order with the lock in Memcached",
	Articles: experiments.Articles{"A0", "A2"},
	Claim:    "With the lock in Memcached exactly one driver wins the order, as long as the server forgets nothing.",
	Says:     "A2 replaces the lock of the JVM by one outside of it. A0 names Memcached's add as a way to take such a lock.",
	Lesson: experiments.Lesson{
		Question: `
			Twenty drivers at two services want one order. The lock of the order is an item in Memcached, and the winner thinks for a while. How
			do the other nineteen learn that the lock is free?`,
		Predict: `
			(a) Memcached notifies them. (b) They ask again and again, and one of them wins as well. (c) They ask again and again, and all of
			them are told which driver won.`,
		Why: `
			(c). Memcached notifies nobody, so one driver for each service asks every 2.5 to 5 ms. The others wait in the queue of their service.
			The first driver reads an open order, and writes its name. Each later one reads that name under the lock.`,
		Fix: `
			Bound the wait, so that a holder that hangs does not keep the drivers for ever. For a single row a conditional UPDATE is shorter and
			needs no lock (G6).`,
		Limits: `
			Nothing fails here. When the server forgets the item while the winner thinks, a second driver reads the order as open (M01). v8 has no
			fencing token, so the order cannot refuse the late write. The conditional UPDATE of G6 would.`,
		Next:  "M01-memcached loses the lock. G3-redis-lock does the same with Redis. By hand: `app demo --versions v8`.",
		Level: experiments.Basic,
	},
	Drawing: `
driver 1 at instance-1   [ read: open   …thinks…   write: mine ]   "you have it"
driver 2 at instance-2     asks every 2.5 to 5 ms                [ read: taken ]   "driver 1 has it"`,
	How: `
		20 drivers, ten for each of two instances, request one order simultaneously. The lock is an item in one Memcached server. The variant
		with the mutex proves that two drivers would win. The control grants by a conditional UPDATE.`,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.Memcached}, Takes: 5 * time.Second},
}, experiments.Variant{Name: "Memcached", Strategy: "v8", Run: services.Grabs(services.Service{Version: "v8"})})
