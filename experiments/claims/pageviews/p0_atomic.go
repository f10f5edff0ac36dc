package pageviews

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var P0 = experiments.Experiment{
	ID:       "P0-atomic",
	Articles: experiments.Articles{"A4"},
	Claim:    "INCR needs no lock: A4's first listing, run as it is printed, ends at 666 and not at 34.",
	Level:    experiments.Basic,
	Anomaly:  services.LostUpdate,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    services.LostViews,
	Variants: []experiments.Variant{
		{Name: "INCR, one request at a time", Run: services.PageViews(services.Service{Version: "v0", Sequential: true})},
		{Name: "INCR, 666 simultaneously: as printed", Run: services.PageViews(services.Service{Version: "v0"})},
		{
			Name: "read and write, 666 simultaneously: as reported", Expect: experiments.Sometimes,
			Run: services.PageViews(services.Service{Version: "v1"}),
		},
	},
}
