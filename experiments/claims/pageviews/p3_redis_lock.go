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
	Level:    experiments.Basic,
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
