package pageviews

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var P0 = Experiments.Add(lab.Experiment{
	ID:       "P0-atomic",
	Articles: lab.Articles{"A4"},
	Claim:    "INCR needs no lock: A4's first listing, run as it is printed, ends at 666 and not at 34.",
	Level:    lab.Basic,
	Anomaly:  services.LostUpdate,
	Schedule: lab.Schedule{Takes: 4 * time.Second},
	Check:    services.LostViews,
	Variants: []lab.Variant{
		{Name: "INCR, one request at a time", Run: services.PageViews(services.Service{Version: "v0", Sequential: true})},
		{Name: "INCR, 666 simultaneously: as printed", Run: services.PageViews(services.Service{Version: "v0"})},
		{
			Name: "read and write, 666 simultaneously: as reported", Expect: lab.Sometimes,
			Run: services.PageViews(services.Service{Version: "v1"}),
		},
	},
})
