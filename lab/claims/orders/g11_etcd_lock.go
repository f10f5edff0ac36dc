package orders

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var G11 = Experiments.Add(services.LockedGrabs(lab.Experiment{
	ID:       "G11-etcd-lock",
	Articles: lab.Articles{"A2", "A3"},
	Claim:    "With the lock in etcd exactly one driver wins the order.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.Etcd}, Takes: 5 * time.Second},
}, lab.Variant{Name: "etcd", Strategy: "v7", Run: services.Grabs(services.Service{Version: "v7"})}))
