package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G12 = services.LockedGrabs(experiments.Experiment{
	ID:       "G12-memcached",
	Articles: experiments.Articles{"A0", "A2"},
	Claim:    "With the lock in Memcached exactly one driver wins the order, as long as the server forgets nothing.",
	Level:    experiments.Basic,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.Memcached}, Takes: 5 * time.Second},
}, experiments.Variant{Name: "Memcached", Strategy: "v8", Run: services.Grabs(services.Service{Version: "v8"})})
