package pageviews

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var P5 = Experiments.Add(services.LockedViews(lab.Experiment{
	ID:       "P5-database-lock",
	Articles: lab.Articles{"A2", "A4"},
	Claim:    "With a lease in a row of the database no update is lost, as long as nothing fails.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 4 * time.Second, Trials: 1}, // of 666 updates
}, lab.Variant{Name: "database row", Strategy: "v5", Run: services.PageViews(services.Service{Version: "v5"})}))
