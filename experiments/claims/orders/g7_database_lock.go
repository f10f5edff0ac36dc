package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G7 = services.LockedGrabs(experiments.Experiment{
	ID:       "G7-database-lock",
	Articles: experiments.Articles{"A2"},
	Claim:    "With a lease in a row of the orders' database exactly one driver wins the order.",
	Level:    experiments.Basic,
	Schedule: experiments.Schedule{Takes: 5 * time.Second},
}, experiments.Variant{Name: "database row", Strategy: "v5", Run: services.Grabs(services.Service{Version: "v5"})})
