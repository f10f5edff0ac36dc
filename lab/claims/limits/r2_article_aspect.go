package limits

import (
	"context"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var R2 = Experiments.Add(lab.Experiment{
	ID:       "R2-article-aspect",
	Articles: lab.Articles{"A0"},
	Claim: `
		A0's listing compares before it counts: callers that compare together pass together, and a caller alone gets one call too many.`,
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 3 * time.Second},
	Check:    services.OverLimit(services.PerMinute),
	Variants: []lab.Variant{
		{Name: "one script, twelve together", Run: services.Twelve("r3", services.CompareTogether)},
		{Name: "as printed, one caller alone", Expect: lab.Sometimes, Run: callAlone("r2")},
		{Name: "as printed, twelve together", Expect: lab.Sometimes, Run: services.Twelve("r2", services.CompareTogether)},
		{Name: "with >=, one caller alone", Run: callAlone("r9")},
		{Name: "with >=, twelve together", Expect: lab.Sometimes, Run: services.Twelve("r9", services.CompareTogether)},
	},
})

func callAlone(algorithm string) lab.Scenario {
	return services.Calling(algorithm, 1, services.PerMinute, func(ctx context.Context, c *services.Caller) { c.Call(ctx, 0, 36) })
}
