package orders

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/history"
)

var G6 = Experiments.Add(lab.Experiment{
	ID:       "G6-conditional-update",
	Articles: lab.Articles{"A2"},
	Claim:    "An UPDATE with the condition that the order is still open has exactly one winner, without a lock.",
	Level:    lab.Basic,
	Anomaly:  services.LostUpdate,
	Schedule: lab.Schedule{Takes: 4 * time.Second},
	Check:    history.Winners,
	Variants: []lab.Variant{
		{Name: "read and write, one driver at a time", Run: services.Grabs(services.Service{Version: "v1", Sequential: true})},
		{Name: "read and write, 20 simultaneously", Expect: lab.Sometimes, Run: services.Grabs(services.Service{Version: "v1"})},
		{Name: "conditional UPDATE, 20 simultaneously", Run: services.Grabs(services.Service{Version: "v0"})},
	},
})
