package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G11 = services.LockedGrabs(experiments.Experiment{
	ID:       "G11-etcd-lock",
	Title:    "The order with the lock in etcd",
	Articles: experiments.Articles{"A2", "A3"},
	Claim:    "With the lock in etcd exactly one driver wins the order.",
	Says:     "The lock of the JVM is replaced by one outside of it. A3 lists etcd beside Redis and ZooKeeper for that.",
	Lesson: experiments.Lesson{
		Question: `
			The order is in a database, and the lock in etcd. Neither knows the other. What happens to a driver whose lock has ended when its
			instance writes the order?`,
		Predict: `
			(a) etcd tells the database. (b) The write is accepted. (c) The order refuses it, because a newer token was there.`,
		Why: `
			Here no lock ends early, and one driver wins. In general it is (c), and only because the order checks the token. The token is the
			revision of the holder's key in etcd. A later holder has a larger one, and registers it when it reads. Without that check it is (b):
			etcd knows nothing of the database.`,
		Fix: `
			Write the token with the order, and refuse a holder with an older one. For a single row a conditional UPDATE is shorter and needs no
			lock (G6).`,
		Limits: `
			Nothing fails here, and one server is no majority. Thinking takes 100 ms, which is much longer than a request to etcd.`,
		Next: "F09-etcd-leader kills a leader. G3-redis-lock does the same with Redis, and G7-database-lock with the database itself. " +
			"By hand: `app demo --versions v7`.",
		Level: experiments.Basic,
	},
	Drawing: `
driver 1 at instance-1   [ read: open   …thinks…   COMMIT: mine ]   "you have it"
driver 2 at instance-2     waits in etcd's queue                   [ read: taken ]   "driver 1 has it"`,
	How: `
		20 drivers, ten for each of two instances, request one order simultaneously. The lock is in etcd, and the order in a database. The
		variant with the mutex proves that two drivers would win. The control grants by a conditional UPDATE.`,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.Etcd}, Takes: 5 * time.Second},
}, experiments.Variant{Name: "etcd", Strategy: "v7", Run: services.Grabs(services.Service{Version: "v7"})})
