package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G8 = services.LockedGrabs(experiments.Experiment{
	ID:       "G8-zookeeper-lock",
	Articles: experiments.Articles{"A2", "A3"},
	Claim:    "With the lock in ZooKeeper exactly one driver wins the order.",
	Level:    experiments.Basic,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.ZooKeeper}, Takes: 8 * time.Second},
}, experiments.Variant{Name: "ZooKeeper", Strategy: "v6", Trials: 1, Run: services.Grabs(services.Service{Version: "v6"})})
