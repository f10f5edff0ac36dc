package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
	"locklab/history"
)

var G6 = experiments.Experiment{
	ID:       "G6-conditional-update",
	Articles: experiments.Articles{"A2"},
	Claim:    "An UPDATE with the condition that the order is still open has exactly one winner, without a lock.",
	Level:    experiments.Basic,
	Anomaly:  services.LostUpdate,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    history.Winners,
	Variants: []experiments.Variant{
		{Name: "read and write, one driver at a time", Run: services.Grabs(services.Service{Version: "v1", Sequential: true})},
		{Name: "read and write, 20 simultaneously", Expect: experiments.Sometimes, Run: services.Grabs(services.Service{Version: "v1"})},
		{Name: "conditional UPDATE, 20 simultaneously", Run: services.Grabs(services.Service{Version: "v0"})},
	},
}
