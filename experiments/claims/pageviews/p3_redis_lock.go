package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
	"locklab/topology"
)

var P3 = services.LockedViews(experiments.Experiment{
	ID:       "P3-redis-lock",
	Articles: experiments.Articles{"A4"},
	Claim:    "With the Redis lock no update is lost, on any of the four topologies, as long as no server fails.",
	Says: `
		With the Redis lock around the read and the write, A4 sees "no problems" with 666 simultaneous requests. Its text has no number; pictures
		are missing in our copy.
		Four topologies are described for it: a single Redis, a master with replicas, Sentinel and Cluster.`,
	Lesson: experiments.Lesson{
		Question: `
			The read and the write are now inside a lock that is kept in Redis, where both instances find it. The same load runs on a single
			Redis, on a master with replicas, with Sentinel and on a cluster. Does one of them lose an update?`,
		Predict: `
			(a) No topology loses an update. (b) Those with replicas do, because replication is asynchronous. (c) The cluster does, because it
			has several masters.`,
		Why: `
			(a). No topology loses an update while every server works. The key of the lock is on one master in each of them, and that master executes
			one command at a time. The counter is read and written at a master, too. Replicas matter for a lock only when a master fails.`,
		Fix: `
			Acquire the lock, read, write, release, and read nothing before the lock is granted. Do the work under the lease's context, which
			ends when the lock is lost. Give the fencing token to the resource, for a holder that does not stop.`,
		Limits: `
			No server fails here. A master that dies before it has replicated the lock lets a second client take it: F01, F02 and F03. The
			counter of v3 also refuses a write with an old fencing token. So a lock that fails might show as a refused request, and not as a lost
			update.`,
		Next: "P4-redlock does the same by a majority of five nodes. F02-sentinel kills the master at the worst moment. L05-lease-overrun and " +
			"L11-pause-past-lease show the lock without a check of tokens. By hand: `app demo --topology cluster`.",
		Level: experiments.Basic,
	},
	Drawing: `
instance-1   [ lock  GET → 0  SET 1  unlock ]
instance-2                          waits   [ lock  GET → 1  SET 2  unlock ]`,
	How: `
		666 simultaneous requests go to two instances in equal parts, with the Redis lock on each topology. The variant without a lock proves
		that the load would lose updates. The control counts by INCR.`,
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.RedisServer},
		Takes:  10 * time.Second,
		Trials: 1, // of 666 updates, over four topologies that take their time to form
	},
},
	experiments.Variant{Name: "single", Strategy: "v3", Run: services.PageViews(services.Service{Version: "v3"})},
	experiments.Variant{
		Name: "master-slave", Strategy: "v3", Run: services.PageViews(services.Service{Version: "v3", Topology: topology.MasterSlave}),
	},
	experiments.Variant{
		Name: "sentinel", Strategy: "v3", Run: services.PageViews(services.Service{Version: "v3", Topology: topology.Sentinel}),
	},
	experiments.Variant{Name: "cluster", Strategy: "v3", Run: services.PageViews(services.Service{Version: "v3", Topology: topology.Cluster})},
)
