package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P6 = services.LockedViews(experiments.Experiment{
	ID:       "P6-zookeeper-lock",
	Articles: experiments.Articles{"A0", "A3", "A4"},
	Claim:    "With the lock in ZooKeeper no update is lost, as long as nothing fails.",
	Level:    experiments.Basic,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.ZooKeeper}, Takes: 6 * time.Second, Trials: 1}, // of 666 updates
}, experiments.Variant{Name: "ZooKeeper", Strategy: "v6", Run: services.PageViews(services.Service{Version: "v6"})})
