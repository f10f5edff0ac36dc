package limits

import (
	"context"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var R7 = Experiments.Add(lab.Experiment{
	ID:       "R7-split-limit",
	Articles: lab.Articles{"A0"},
	Claim: `
		A twelfth of the limit for each node is never exceeded and needs no Redis; under skewed load it refuses what others do not use.`,
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 3 * time.Second},
	Check:    services.OverLimit(services.PerMinute),
	Variants: []lab.Variant{
		{Name: "one counter, even load", Run: services.Twelve("r3", even)},
		{Name: "one counter, skewed load", Run: services.Twelve("r3", skewed)},
		{Name: "limit / 12, even load", Run: services.Twelve("r7", even)},
		{Name: "limit / 12, skewed load", Run: services.Twelve("r7", skewed)},
	},
})

func even(ctx context.Context, c *services.Caller) { c.Together(ctx, 2*c.Limit.Count/len(c.Limiters)) }

func skewed(ctx context.Context, c *services.Caller) { c.Call(ctx, 0, 2*c.Limit.Count) }
