package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P5 = services.LockedViews(experiments.Experiment{
	ID:       "P5-database-lock",
	Articles: experiments.Articles{"A2", "A4"},
	Claim:    "With a lease in a row of the database no update is lost, as long as nothing fails.",
	Level:    experiments.Basic,
	Schedule: experiments.Schedule{Takes: 4 * time.Second, Trials: 1}, // of 666 updates
}, experiments.Variant{Name: "database row", Strategy: "v5", Run: services.PageViews(services.Service{Version: "v5"})})
