package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P5 = services.LockedViews(experiments.Experiment{
	ID:       "P5-database-lock",
	Title:    "Page views with the lock in a database row",
	Articles: experiments.Articles{"A2", "A4"},
	Claim:    "With a lease in a row of the database no update is lost, as long as nothing fails.",
	Says: `
		A2 names the database as one of three ways to make such a lock, and shows none in it. A4, whose load this is, does not mention
		it.`,
	Lesson: experiments.Lesson{
		Question: `
			The service has a database, and no other server that could keep a lock. One UPDATE takes a row when it is free. Waiters ask again and
			again. Are 666 simultaneous requests too many for that?`,
		Predict: `
			(a) Updates are lost. (b) None is lost, and the database is asked by hundreds of waiters. (c) None is lost, and one waiter for each
			instance asks.`,
		Why: `
			(c). One UPDATE is atomic, so one client gets the row. The requests of one instance queue in the process, so only the first of them
			asks the database. The lock is handed off inside the instance up to 128 times, or for 100 ms. Only then the other instance waits
			for its next question, 10 ms at most.`,
		Fix: `
			Put a queue in front of a lock that is polled. Without one, every waiter polls, and the load on the database grows with the number of
			waiters. Where one statement can do the work itself, take that one (P0, G6).`,
		Limits: `
			Nothing fails here. The lock is as available as the database. A failover to a replica without the row loses it. The counter also
			checks the token, so a lost lock might show as a refused request.`,
		Next: "P3-redis-lock is notified of a release instead. D01-database-lock compares other locks in a database. " +
			"By hand: `app demo --versions v3,v5`.",
		Level: experiments.Basic,
	},
	Drawing: `
instance-1   [ UPDATE: taken  GET → 0  SET 1  … hand-off to its own callers … ]  UPDATE: free
instance-2     asks every 5 to 10 ms                                              [ UPDATE: taken  GET → 333 …`,
	How: `
		666 simultaneous requests go to two instances in equal parts. The lock is a row in the database of the orders: MariaDB where it is
		installed, and SQLite otherwise. The counter is in Redis. The variant without a lock proves that the load would lose updates. The
		control counts by INCR.`,
	Schedule: experiments.Schedule{Takes: 4 * time.Second, Trials: 1}, // of 666 updates
}, experiments.Variant{Name: "database row", Strategy: "v5", Run: services.PageViews(services.Service{Version: "v5"})})
