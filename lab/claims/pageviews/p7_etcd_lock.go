package pageviews

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var P7 = Experiments.Add(services.LockedViews(lab.Experiment{
	ID:       "P7-etcd-lock",
	Articles: lab.Articles{"A3", "A4"},
	Claim:    "With the lock in etcd no update is lost, as long as nothing fails.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.Etcd}, Takes: 4 * time.Second, Trials: 1}, // of 666 updates
}, lab.Variant{Name: "etcd", Strategy: "v7", Run: services.PageViews(services.Service{Version: "v7"})}))
