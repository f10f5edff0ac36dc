package orders

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var G12 = Experiments.Add(services.LockedGrabs(lab.Experiment{
	ID:       "G12-memcached",
	Articles: lab.Articles{"A0", "A2"},
	Claim:    "With the lock in Memcached exactly one driver wins the order, as long as the server forgets nothing.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.Memcached}, Takes: 5 * time.Second},
}, lab.Variant{Name: "Memcached", Strategy: "v8", Run: services.Grabs(services.Service{Version: "v8"})}))
