package pageviews

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var P9 = Experiments.Add(lab.Experiment{
	ID:       "P9-lock-faults",
	Articles: lab.Articles{"A0", "A4"},
	Claim: `
		A lock that is taken from its holder loses page views, and loses none as long as the counter checks the fencing token at the read
		and at the write.`,
	Level: lab.Medium,
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.RedisServer},
		Slow:   true,
		Takes:  105 * time.Second,
		Trials: 1, // of a minute
	},
	Check: services.LostViews,
	Variants: []lab.Variant{
		{Name: "v3, no fault", Run: services.Chaos{Version: "v3", For: 5 * time.Second, Calm: true}.Views},
		{Name: "v3, no token, no fault", Run: services.Chaos{Version: "v3", For: 5 * time.Second, Calm: true, NoToken: true}.Views},
		{Name: "v1, no lock", Expect: lab.Sometimes, Fault: true, Run: services.Chaos{Version: "v1", For: 10 * time.Second}.Views},
		{
			Name: "v3, no token", Expect: lab.Sometimes, Fault: true,
			Run: services.Chaos{Version: "v3", For: 10 * time.Second, NoToken: true}.Views,
		},
		{Name: "v4, no token", Expect: lab.Sometimes, Fault: true, Run: services.Chaos{Version: "v4", For: 10 * time.Second}.Views},
		{Name: "v3, token checked", Fault: true, Run: services.Chaos{Version: "v3", For: time.Minute}.Views},
	},
})
