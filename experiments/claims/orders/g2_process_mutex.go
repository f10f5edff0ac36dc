package orders

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
	"locklab/history"
)

var G2 = experiments.Experiment{
	ID:       "G2-process-mutex",
	Articles: experiments.Articles{"A2"},
	Claim:    "With a mutex in the process, one instance grants an order once, and two instances grant it twice.",
	Level:    experiments.Basic,
	Anomaly:  services.LostUpdate,
	Schedule: experiments.Schedule{Takes: 8 * time.Second},
	Check:    history.Winners,
	Variants: []experiments.Variant{
		{Name: "one instance", Run: services.Grabs(services.Service{Version: "v2", Instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Strategy: "v2", Run: services.Grabs(services.Service{Version: "v2"})},
		{
			Name: "two instances, A2's second of thinking", Expect: experiments.Sometimes, Slow: true,
			Run: services.Grabs(services.Service{Version: "v2", Think: time.Second}),
		},
	},
}
