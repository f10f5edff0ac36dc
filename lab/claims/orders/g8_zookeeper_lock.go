package orders

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var G8 = Experiments.Add(services.LockedGrabs(lab.Experiment{
	ID:       "G8-zookeeper-lock",
	Articles: lab.Articles{"A2", "A3"},
	Claim:    "With the lock in ZooKeeper exactly one driver wins the order.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.ZooKeeper}, Takes: 8 * time.Second},
}, lab.Variant{Name: "ZooKeeper", Strategy: "v6", Trials: 1, Run: services.Grabs(services.Service{Version: "v6"})}))
