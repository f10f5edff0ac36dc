package pageviews

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var P4 = Experiments.Add(services.LockedViews(lab.Experiment{
	ID:       "P4-redlock",
	Articles: lab.Articles{"A4"},
	Claim:    "With RedLock over five nodes no update is lost, as long as no server fails.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 5 * time.Second},
}, lab.Variant{Name: "five nodes", Strategy: "v4", Run: services.PageViews(services.Service{Version: "v4"})}))
