package pageviews

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var P6 = Experiments.Add(services.LockedViews(lab.Experiment{
	ID:       "P6-zookeeper-lock",
	Articles: lab.Articles{"A0", "A3", "A4"},
	Claim:    "With the lock in ZooKeeper no update is lost, as long as nothing fails.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.ZooKeeper}, Takes: 6 * time.Second, Trials: 1}, // of 666 updates
}, lab.Variant{Name: "ZooKeeper", Strategy: "v6", Run: services.PageViews(services.Service{Version: "v6"})}))
