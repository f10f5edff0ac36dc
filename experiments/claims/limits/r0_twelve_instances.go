package limits

import (
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/services"
)

var R0 = experiments.Experiment{
	ID:       "R0-twelve-instances",
	Articles: experiments.Articles{"A0"},
	Claim: `
		Behind a balancer, twelve instances with a counter each exceed the supplier's limit, and with one counter in Redis they do not.`,
	Level:    experiments.Basic,
	Schedule: experiments.Schedule{Slow: true, Takes: 5 * time.Second, Trials: 1}, // twelve processes take their time to start
	Check:    services.OverLimit(services.PerMinute),
	Variants: []experiments.Variant{
		{Name: "one instance, a counter in memory", Run: supplierCalls("r1", 1)},
		{Name: "twelve instances, a counter each", Expect: experiments.Sometimes, Run: supplierCalls("r1", services.SupplierNodes)},
		{Name: "twelve instances, one counter in Redis", Run: supplierCalls("r3", services.SupplierNodes)},
		{Name: "twelve instances, each with its part of the limit", Run: supplierCalls("r7", services.SupplierNodes)},
	},
}

// supplierCalls sends more requests than the supplier's limit to instances that call it, and records which calls were made.
func supplierCalls(algorithm string, instances int) experiments.Scenario {
	const requests = 36 * services.SupplierNodes
	return func(ctx context.Context, t *experiments.Trial) {
		s := services.Service{Instances: instances, Version: "v0", Flags: []string{
			fmt.Sprintf("--supplier-limit=%d", services.PerMinute.Count), "--supplier-window=" + services.PerMinute.Window.String(),
		}}
		b, err := burst.RunCalls(ctx, s.Start(ctx, t), algorithm, requests, burst.Simultaneous)
		t.Must(err)
		services.RecordBurst(t, b.Began, b.Events)
		t.Measure("supplier", int64(b.Seen), experiments.Count.Of("calls made"))
		t.Measure("supplier", int64(len(b.Refused)), experiments.Count.Of("calls refused"))
		t.Measure("supplier", int64(b.Over), experiments.Count.Of("calls over the limit in one window, at most"))
		t.Must(b.Sound(instances))
	}
}
