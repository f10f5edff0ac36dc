package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/topology"
)

var _ = register(experiments.Experiment{
	ID:      "P3-redis-lock",
	Article: "A4",
	Claim:   "The Redis lock loses no update, over each topology, as long as no server fails.",
	Says: `
		With the Redis lock, 666 simultaneous requests on two instances end at 666: on a single Redis, master and replicas, Sentinel and
		Cluster.`,
	Drawing: `
instance-1   [ lock  GET → 0  SET 1  unlock ]
instance-2                          waits   [ lock  GET → 1  SET 2  unlock ]`,
	How: `
		666 simultaneous requests go to two instances in equal parts, with the Redis lock over each topology. The variant without a lock proves
		that the load would lose updates. The control counts with INCR.`,
	Anomaly: kit.LostUpdate,
	Needs:   []experiments.Need{experiments.RedisServer},
	Takes:   10 * time.Second,
	Trials:  1, // of 666 updates, over four topologies that take their time to form
	Check:   kit.LostViews,
	Variants: []experiments.Variant{
		{Name: "INCR", Run: kit.PageViews(kit.Service{Version: "v0"})},
		{Name: "without a lock", Expect: experiments.Sometimes, Run: kit.PageViews(kit.Service{Version: "v1"})},
		{Name: "single", Strategy: "v3", Run: kit.PageViews(kit.Service{Version: "v3"})},
		{Name: "master-slave", Strategy: "v3", Run: kit.PageViews(kit.Service{Version: "v3", Topology: topology.MasterSlave})},
		{Name: "sentinel", Strategy: "v3", Run: kit.PageViews(kit.Service{Version: "v3", Topology: topology.Sentinel})},
		{Name: "cluster", Strategy: "v3", Run: kit.PageViews(kit.Service{Version: "v3", Topology: topology.Cluster})},
	},
})
