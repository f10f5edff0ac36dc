package pageviews

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/topology"
)

var P3 = Experiments.Add(services.LockedViews(lab.Experiment{
	ID:       "P3-redis-lock",
	Articles: lab.Articles{"A4"},
	Claim:    "With the Redis lock no update is lost, on any of the four topologies, as long as no server fails.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.RedisServer},
		Takes:  10 * time.Second,
		Trials: 1, // of 666 updates, over four topologies that take their time to form
	},
},
	lab.Variant{Name: "single", Strategy: "v3", Run: services.PageViews(services.Service{Version: "v3"})},
	lab.Variant{
		Name: "master-slave", Strategy: "v3", Run: services.PageViews(services.Service{Version: "v3", Topology: topology.MasterSlave}),
	},
	lab.Variant{
		Name: "sentinel", Strategy: "v3", Run: services.PageViews(services.Service{Version: "v3", Topology: topology.Sentinel}),
	},
	lab.Variant{Name: "cluster", Strategy: "v3", Run: services.PageViews(services.Service{Version: "v3", Topology: topology.Cluster})},
))
