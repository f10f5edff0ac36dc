package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G7 = services.LockedGrabs(experiments.Experiment{
	ID:       "G7-database-lock",
	Title:    "The order with the lock in a database row",
	Articles: experiments.Articles{"A2"},
	Claim:    "With a lease in a row of the orders' database exactly one driver wins the order.",
	Says: `
		The lock of the JVM is replaced by one outside of it. A2 names the database as one of three ways to do that, and shows none in
		it.`,
	Lesson: experiments.Lesson{
		Question: `
			The lock and the order are in one database. The lock is taken by a statement of its own, before the order is read. Is it enough to
			take and release it inside of the order's transaction?`,
		Predict: `
			(a) Yes: one transaction is simpler. (b) No: the lock would be visible to others only at the COMMIT. (c) It makes no difference.`,
		Why: `
			(b). An UPDATE that is not committed locks its row for every other transaction. So the others would wait in the database, each with a
			connection. Here the lease is committed before the order is read, and released after the order's COMMIT. Waiters ask, and wait in
			no transaction. One driver wins, and the others are told which one.`,
		Fix: `
			Commit the lease first, work in a second transaction, and release after its COMMIT. For a single row a conditional UPDATE is shorter
			and needs no lock (G6).`,
		Limits: `
			Nothing fails here, and the order checks the token. Thinking takes 100 ms, so the wait between two questions is a large part of the
			time.`,
		Next: "D02-released-before-commit shows the wrong order of release and COMMIT. G3-redis-lock does the same with Redis. " +
			"By hand: `app demo --versions v5`.",
		Level: experiments.Basic,
	},
	Drawing: `
driver 1 at instance-1   [ read: open   …thinks…   COMMIT: mine ]   "you have it"
driver 2 at instance-2     asks every 5 to 10 ms                   [ read: taken ]   "driver 1 has it"`,
	How: `
		20 drivers, ten for each of two instances, request one order simultaneously. The lock is a row in the database of the orders, in a
		transaction of its own. The variant with the mutex proves that two drivers would win. The control grants by a conditional UPDATE.`,
	Schedule: experiments.Schedule{Takes: 5 * time.Second},
}, experiments.Variant{Name: "database row", Strategy: "v5", Run: services.Grabs(services.Service{Version: "v5"})})
