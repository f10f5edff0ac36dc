package orders

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/history"
)

var G2 = Experiments.Add(lab.Experiment{
	ID:       "G2-process-mutex",
	Articles: lab.Articles{"A2"},
	Claim:    "With a mutex in the process, one instance grants an order once, and two instances grant it twice.",
	Level:    lab.Basic,
	Anomaly:  services.LostUpdate,
	Schedule: lab.Schedule{Takes: 8 * time.Second},
	Check:    history.Winners,
	Variants: []lab.Variant{
		{Name: "one instance", Run: services.Grabs(services.Service{Version: "v2", Instances: 1})},
		{Name: "two instances", Expect: lab.Sometimes, Strategy: "v2", Run: services.Grabs(services.Service{Version: "v2"})},
		{
			Name: "two instances, A2's second of thinking", Expect: lab.Sometimes, Slow: true,
			Run: services.Grabs(services.Service{Version: "v2", Think: time.Second}),
		},
	},
})
