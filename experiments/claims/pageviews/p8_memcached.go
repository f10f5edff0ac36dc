package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P8 = services.LockedViews(experiments.Experiment{
	ID:       "P8-memcached",
	Title:    "Page views with the lock in Memcached",
	Articles: experiments.Articles{"A0", "A4"},
	Claim:    "With the lock in Memcached no update is lost, as long as the server forgets nothing.",
	Says:     "A0 names Memcached's add as one of the usual ways to take a lock. A4 does not measure it.",
	Lesson: experiments.Lesson{
		Question: `
			The lock is an item in a Memcached server, which has no messages and no scripts. 666 simultaneous requests arrive at two instances.
			Is an update lost?`,
		Predict: `
			(a) Updates are lost: a cache is no place for a lock. (b) None is lost. (c) None is lost, and it takes many times as long as with
			Redis.`,
		Why: `
			(b). An add is atomic, so one client stores the item. The requests of one instance queue in the process, and only the first of them
			asks the server. The lock is handed off inside the instance, without a request. Then the other instance asks again within 10 ms.`,
		Fix: `
			Take the lock by add with an expiry, compare the owner, and release by cas. Put a queue in front of it, so that one waiter for each
			instance polls. Where one command can do the work itself, take that one (P0).`,
		Limits: `
			Nothing fails here, and the server's memory has room. A cache that is full, restarts or stalls loses the lock (M01), and there is no
			fencing token that would refuse a stale write.`,
		Next:  "M01-memcached shows what ends such a lock. P3-redis-lock does the same with Redis. By hand: `app demo --versions v3,v8`.",
		Level: experiments.Basic,
	},
	Drawing: `
instance-1   [ add: stored  GET → 0  SET 1  … hand-off to its own callers … ]  gets, cas: expired
instance-2     asks every 2.5 to 5 ms                                            [ add: stored  GET → 256 …`,
	How: `
		666 simultaneous requests go to two instances in equal parts. The lock is an item in one Memcached server, and the counter is in Redis.
		The variant without a lock proves that the load would lose updates. The control counts by INCR.`,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.Memcached}, Takes: 5 * time.Second, Trials: 1}, // of 666 updates
}, experiments.Variant{Name: "Memcached", Strategy: "v8", Run: services.PageViews(services.Service{Version: "v8"})})
