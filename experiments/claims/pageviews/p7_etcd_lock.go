package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P7 = services.LockedViews(experiments.Experiment{
	ID:       "P7-etcd-lock",
	Title:    "Page views with the lock in etcd",
	Articles: experiments.Articles{"A3", "A4"},
	Claim:    "With the lock in etcd no update is lost, as long as nothing fails.",
	Says: `
		A3 names etcd beside ZooKeeper where a lock must not be granted twice. A4 names an earlier article of its author with etcd.
		Neither says how fast it is (A3's table is missing in our copy).`,
	Lesson: experiments.Lesson{
		Question: `
			etcd writes each lock to the disks of a majority before it answers. So a lock costs milliseconds, and 666 requests want it
			simultaneously. How many locks does etcd see?`,
		Predict: `
			(a) 666, one for each request. (b) Two, one for each instance. (c) A few for each instance.`,
		Why: `
			(c). The requests of one instance queue in the process, and only the first of them has a key in etcd. The lock is handed off inside
			the instance up to 128 times, or for 100 ms. Then the instance deletes its key and takes the last place in etcd's queue. The other
			instance watches that key, and is told when it is deleted. So the disks matter for each turn, and not for each request.`,
		Fix: `
			Put a queue in front of a lock that is slow. Keep the sequence of the processes in etcd, where each waiter watches the key before its
			own: a release wakes one process.`,
		Limits: `
			Nothing fails here, and one server is no majority: nothing is replicated. The counter also checks the token, so a lost lock might show
			as a refused request.`,
		Next: "F09-etcd-leader kills the leader of three servers. G11-etcd-lock grants an order. P3-redis-lock is the same with Redis. " +
			"By hand: `app demo --versions v3,v7`.",
		Level: experiments.Basic,
	},
	Drawing: `
instance-1   [ its key is the oldest   GET → 0  SET 1  … hand-off to its own callers … ]  deletes its key
instance-2     waits for the deletion of the key before its own                            [ GET → 333 …`,
	How: `
		666 simultaneous requests go to two instances in equal parts. The lock is in one server of etcd, and the counter is in Redis. The variant
		without a lock proves that the load would lose updates. The control counts by INCR.`,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.Etcd}, Takes: 4 * time.Second, Trials: 1}, // of 666 updates
}, experiments.Variant{Name: "etcd", Strategy: "v7", Run: services.PageViews(services.Service{Version: "v7"})})
