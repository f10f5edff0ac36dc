package claims

import (
	"time"

	"locklab/experiments"
	"locklab/topology"
)

var _ = register(experiments.Experiment{
	ID:      "P3-redis-lock",
	Article: "A4",
	Claim:   "The Redis lock keeps every update, over each topology, as long as no server fails.",
	Says:    "With the Redis lock, 666 requests at once on two instances end at 666, on a single Redis, master and replicas, Sentinel and Cluster.",
	Drawing: `
instance-1   [ lock  GET → 0  SET 1  unlock ]
instance-2                          waits   [ lock  GET → 1  SET 2  unlock ]`,
	How:     "666 requests at once, halved exactly between two instances: without a lock as a proof that the load would lose updates, and with the Redis lock over each topology. The control counts with INCR.",
	Anomaly: lostUpdate,
	Needs:   []experiments.Need{experiments.RedisServer},
	Takes:   10 * time.Second,
	Trials:  1, // of 666 updates, over four topologies that take their time to form
	Check:   lostViews,
	Variants: []experiments.Variant{
		{Name: "INCR", Run: views(service{version: "v0"})},
		{Name: "without a lock", Expect: experiments.Sometimes, Run: views(service{version: "v1"})},
		{Name: "single", Strategy: "v3", Run: views(service{version: "v3"})},
		{Name: "master-slave", Strategy: "v3", Run: views(service{version: "v3", topology: topology.MasterSlave})},
		{Name: "sentinel", Strategy: "v3", Run: views(service{version: "v3", topology: topology.Sentinel})},
		{Name: "cluster", Strategy: "v3", Run: views(service{version: "v3", topology: topology.Cluster})},
	},
})
