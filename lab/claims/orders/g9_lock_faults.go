package orders

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/history"
	"locklab/topology"
)

var G9 = Experiments.Add(lab.Experiment{
	ID:       "G9-lock-faults",
	Articles: lab.Articles{"A2"},
	Claim:    "No fault of the lock, and no failover of its Redis, gives an order to two drivers, as long as the database checks the token.",
	Level:    lab.Advanced,
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.RedisServer},
		Slow:   true,
		Takes:  110 * time.Second,
		Trials: 1, // of up to a minute
	},
	Check: history.Winners,
	Variants: []lab.Variant{
		{Name: "v3, no fault", Run: services.Chaos{Version: "v3", For: 5 * time.Second, Calm: true}.Orders},
		{Name: "v4, no token", Expect: lab.Sometimes, Fault: true, Run: services.Chaos{Version: "v4", For: 10 * time.Second}.Orders},
		{Name: "v3, token checked", Fault: true, Run: services.Chaos{Version: "v3", For: 20 * time.Second}.Orders},
		{
			Name: "v3, token checked, with failovers", Fault: true,
			Run: services.Chaos{Version: "v3", For: time.Minute, Topology: topology.Sentinel}.Orders,
		},
	},
})
