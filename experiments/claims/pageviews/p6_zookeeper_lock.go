package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P6 = services.LockedViews(experiments.Experiment{
	ID:       "P6-zookeeper-lock",
	Title:    "Page views with the lock in ZooKeeper",
	Articles: experiments.Articles{"A0", "A3", "A4"},
	Claim:    "With the lock in ZooKeeper no update is lost, as long as nothing fails.",
	Says: `
		A0 says that sequential ephemeral nodes of ZooKeeper make a lock and a queue. A3 names ephemeral nodes, and A4 an earlier
		article of its author with ZooKeeper. None of them shows such a lock, or measures one (A3's table is missing in our
		copy).`,
	Elsewhere: `
		The client with the lowest number has the lock, and each other client watches the node before its own. That is the recipe of
		ZooKeeper's documentation (https://zookeeper.apache.org/doc/r3.8.0/recipes.html#sc_recipes_Locks).`,
	Lesson: experiments.Lesson{
		Question: `
			ZooKeeper writes each change to the disks of a majority before it answers, and keeps a node for each waiter. 666 requests come
			simultaneously. Is that too many?`,
		Predict: `
			(a) Updates are lost. (b) None is lost, and 666 nodes stand in the queue. (c) None is lost, and the queue has a node for each
			instance.`,
		Why: `
			(c). The first in the queue holds the lock, and each other waits for the deletion of the node before its own. So a release wakes one
			waiter. The requests of one instance queue in the process, so an instance has one node. The lock is handed off inside the
			instance up to 128 times, or for 100 ms. Then the instance enters the queue again, behind the other one.`,
		Fix: `
			Put a queue in front of a lock that costs writes to a disk. Let each waiter watch the node before its own, and not the whole queue:
			otherwise each release wakes everybody.`,
		Limits: `
			Nothing fails here, and one server keeps the lock. Three of them survive the death of one: F10. The counter also checks the token, so a
			lost lock might show as a refused request.`,
		Next:  "P3-redis-lock is faster and survives no failover. F10-zookeeper-leader kills the leader. By hand: `app demo --versions v3,v6`.",
		Level: experiments.Basic,
	},
	Drawing: `
instance-1   [ node 1: first  GET → 0  SET 1  … hand-off to its own callers … ]  node 1 is deleted
instance-2     node 2: waits for the deletion of node 1                            [ GET → 256 …`,
	How: `
		666 simultaneous requests go to two instances in equal parts. The lock is in one ZooKeeper server, the counter in Redis. The variant
		without a lock proves that the load would lose updates. The control counts by INCR.`,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.ZooKeeper}, Takes: 6 * time.Second, Trials: 1}, // of 666 updates
}, experiments.Variant{Name: "ZooKeeper", Strategy: "v6", Run: services.PageViews(services.Service{Version: "v6"})})
