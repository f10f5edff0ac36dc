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
		{Name: "one node", Run: manyCalls("r1", 1)},
		{Name: "twelve nodes", Expect: lab.Sometimes, Run: manyCalls("r1", services.SupplierNodes)},
		{Name: "twelve nodes, one counter in Redis", Run: manyCalls("r3", services.SupplierNodes)},
	},
})

// manyCalls lets each node call more often than all of them may.
func manyCalls(algorithm string, nodes int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		c := services.StartCaller(ctx, t, algorithm, nodes, services.PerMinute)
		c.Together(ctx, 36)
		c.Sum()
	}
}
