package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P8 = services.LockedViews(experiments.Experiment{
	ID:       "P8-memcached",
	Articles: experiments.Articles{"A0", "A4"},
	Claim:    "With the lock in Memcached no update is lost, as long as the server forgets nothing.",
	Level:    experiments.Basic,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.Memcached}, Takes: 5 * time.Second, Trials: 1}, // of 666 updates
}, experiments.Variant{Name: "Memcached", Strategy: "v8", Run: services.PageViews(services.Service{Version: "v8"})})
