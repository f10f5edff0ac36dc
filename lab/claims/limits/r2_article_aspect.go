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
		{Name: "one script, twelve together", Run: compareTogether("r3")},
		{Name: "as printed, one caller alone", Expect: lab.Sometimes, Run: callAlone("r2")},
		{Name: "as printed, twelve together", Expect: lab.Sometimes, Run: compareTogether("r2")},
		{Name: "with >=, one caller alone", Run: callAlone("r9")},
		{Name: "with >=, twelve together", Expect: lab.Sometimes, Run: compareTogether("r9")},
	},
})

func callAlone(algorithm string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		c := services.StartCaller(ctx, t, algorithm, 1, services.PerMinute)
		c.Call(ctx, 0, 36)
		c.Sum()
	}
}

func compareTogether(algorithm string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		c := services.StartCaller(ctx, t, algorithm, services.SupplierNodes, services.PerMinute)
		c.CompareTogether(ctx)
		c.Sum()
	}
}
