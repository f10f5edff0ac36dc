package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P7 = services.LockedViews(experiments.Experiment{
	ID:       "P7-etcd-lock",
	Articles: experiments.Articles{"A3", "A4"},
	Claim:    "With the lock in etcd no update is lost, as long as nothing fails.",
	Level:    experiments.Basic,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.Etcd}, Takes: 4 * time.Second, Trials: 1}, // of 666 updates
}, experiments.Variant{Name: "etcd", Strategy: "v7", Run: services.PageViews(services.Service{Version: "v7"})})
