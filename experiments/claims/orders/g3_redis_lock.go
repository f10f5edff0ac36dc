package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G3 = services.LockedGrabs(experiments.Experiment{
	ID:       "G3-redis-lock",
	Articles: experiments.Articles{"A2"},
	Claim:    "With the Redis lock exactly one driver wins the order.",
	Level:    experiments.Basic,
	Schedule: experiments.Schedule{Takes: 9 * time.Second},
},
	experiments.Variant{Name: "Redis lock", Strategy: "v3", Run: services.Grabs(services.Service{Version: "v3"})},
	experiments.Variant{
		Name: "Redis lock, A2's second of thinking", Slow: true,
		Run: services.Grabs(services.Service{Version: "v3", Think: time.Second}),
	},
)
