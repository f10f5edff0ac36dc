package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P4 = services.LockedViews(experiments.Experiment{
	ID:       "P4-redlock",
	Articles: experiments.Articles{"A4"},
	Claim:    "With RedLock over five nodes no update is lost, as long as no server fails.",
	Level:    experiments.Medium,
	Schedule: experiments.Schedule{Takes: 5 * time.Second},
}, experiments.Variant{Name: "five nodes", Strategy: "v4", Run: services.PageViews(services.Service{Version: "v4"})})
