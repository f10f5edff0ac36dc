package limits

import (
	"context"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var R1 = Experiments.Add(lab.Experiment{
	ID:       "R1-local-counter",
	Articles: lab.Articles{"A0"},
	Claim:    "A limit that each of twelve nodes counts for itself admits twelve times as many calls.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 2 * time.Second},
	Check:    services.OverLimit(services.PerMinute),
	Variants: []lab.Variant{
		{Name: "one node", Run: services.Calling("r1", 1, services.PerMinute, tooOften)},
		{Name: "twelve nodes", Expect: lab.Sometimes, Run: services.Twelve("r1", tooOften)},
		{Name: "twelve nodes, one counter in Redis", Run: services.Twelve("r3", tooOften)},
	},
})

// tooOften lets each node call more often than all of them may.
func tooOften(ctx context.Context, c *services.Caller) { c.Together(ctx, 36) }
