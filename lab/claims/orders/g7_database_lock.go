package orders

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var G7 = Experiments.Add(services.LockedGrabs(lab.Experiment{
	ID:       "G7-database-lock",
	Articles: lab.Articles{"A2"},
	Claim:    "With a lease in a row of the orders' database exactly one driver wins the order.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 5 * time.Second},
}, lab.Variant{Name: "database row", Strategy: "v5", Run: services.Grabs(services.Service{Version: "v5"})}))
