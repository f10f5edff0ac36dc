package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G4 = services.LockedGrabs(experiments.Experiment{
	ID:       "G4-redlock",
	Articles: experiments.Articles{"A2"},
	Claim:    "With RedLock over five nodes exactly one driver wins the order.",
	Level:    experiments.Medium,
	Schedule: experiments.Schedule{Takes: 5 * time.Second},
}, experiments.Variant{Name: "RedLock", Strategy: "v4", Run: services.Grabs(services.Service{Version: "v4"})})
