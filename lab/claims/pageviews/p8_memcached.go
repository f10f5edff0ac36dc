package pageviews

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var P8 = Experiments.Add(services.LockedViews(lab.Experiment{
	ID:       "P8-memcached",
	Articles: lab.Articles{"A0", "A4"},
	Claim:    "With the lock in Memcached no update is lost, as long as the server forgets nothing.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.Memcached}, Takes: 5 * time.Second, Trials: 1}, // of 666 updates
}, lab.Variant{Name: "Memcached", Strategy: "v8", Run: services.PageViews(services.Service{Version: "v8"})}))
