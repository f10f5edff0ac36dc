package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var G11 = services.LockedGrabs(experiments.Experiment{
	ID:       "G11-etcd-lock",
	Articles: experiments.Articles{"A2", "A3"},
	Claim:    "With the lock in etcd exactly one driver wins the order.",
	Level:    experiments.Basic,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.Etcd}, Takes: 5 * time.Second},
}, experiments.Variant{Name: "etcd", Strategy: "v7", Run: services.Grabs(services.Service{Version: "v7"})})
