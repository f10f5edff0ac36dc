package limits

import (
	"context"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
)

var R4 = Experiments.Add(lab.Experiment{
	ID:       "R4-window-edge",
	Articles: lab.Articles{"A0"},
	Claim:    "A fixed window admits nearly twice the limit around its end; a sliding window does not, and GCRA with a small burst does not.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Alone: true, Slow: true, Takes: 8 * time.Second, Trials: 2}, // each waits for a window
	Check:    services.OverLimit(services.PerMoment),
	Variants: []lab.Variant{
		{Name: "fixed window, inside it", Run: services.Twelve("r3", insideOneWindow)},
		{Name: "fixed window, around its end", Expect: lab.Sometimes, Run: aroundTheEnd("r3")},
		{Name: "sliding window, a log", Run: aroundTheEnd("r4")},
		{Name: "GCRA, burst and rate are the limit", Run: aroundTheEnd("r6")},
		{Name: "GCRA, each is the limit", Expect: lab.Sometimes, Run: aroundTheEnd("r8")},
	},
})

// insideOneWindow calls in a window that ends after the trial.
func insideOneWindow(ctx context.Context, c *services.Caller) { c.Together(ctx, 4) }

func aroundTheEnd(algorithm string) lab.Scenario {
	return services.Calling(algorithm, services.SupplierNodes, services.PerMoment, services.AroundTheEnd)
}
