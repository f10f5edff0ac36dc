package orders

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var G4 = Experiments.Add(services.LockedGrabs(lab.Experiment{
	ID:       "G4-redlock",
	Articles: lab.Articles{"A2"},
	Claim:    "With RedLock over five nodes exactly one driver wins the order.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 5 * time.Second},
}, lab.Variant{Name: "RedLock", Strategy: "v4", Run: services.Grabs(services.Service{Version: "v4"})}))
