package orders

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var G3 = Experiments.Add(services.LockedGrabs(lab.Experiment{
	ID:       "G3-redis-lock",
	Articles: lab.Articles{"A2"},
	Claim:    "With the Redis lock exactly one driver wins the order.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 9 * time.Second},
},
	lab.Variant{Name: "Redis lock", Strategy: "v3", Run: services.Grabs(services.Service{Version: "v3"})},
	lab.Variant{
		Name: "Redis lock, A2's second of thinking", Slow: true,
		Run: services.Grabs(services.Service{Version: "v3", Think: time.Second}),
	},
))
