package limits

import (
	"context"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/claims/services"
	"locklab/systems/ratelimit"
)

var R0 = Experiments.Add(lab.Experiment{
	ID:       "R0-twelve-instances",
	Articles: lab.Articles{"A0"},
	Claim: `
		Behind a balancer, twelve instances with a counter each exceed the supplier's limit, and with one counter in Redis they do not.`,
	Level:    lab.Basic,
	Schedule: lab.Schedule{Slow: true, Takes: 5 * time.Second, Trials: 1}, // twelve processes take their time to start
	Check:    services.OverLimit(services.PerMinute),
	Variants: []lab.Variant{
		{Name: "one instance, a counter in memory", Run: supplierCalls("r1", 1)},
		{Name: "twelve instances, a counter each", Expect: lab.Sometimes, Run: supplierCalls("r1", services.SupplierNodes)},
		{Name: "twelve instances, one counter in Redis", Run: supplierCalls("r3", services.SupplierNodes)},
		{Name: "twelve instances, each with its part of the limit", Run: supplierCalls("r7", services.SupplierNodes)},
	},
})

// supplierCalls sends more requests than the supplier's limit to instances that call it, and records which calls were made.
func supplierCalls(algorithm string, instances int) lab.Scenario {
	const requests = 36 * services.SupplierNodes
	return callSupplier(algorithm, instances, services.PerMinute, requests, burst.Simultaneous)
}

// callSupplier sends so many requests to instances that call a supplier with this limit, and records which calls were made.
func callSupplier(algorithm string, instances int, limit ratelimit.Limit, requests int, send burst.Send) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		s := services.Service{Instances: instances, Version: "v0", Flags: []string{
			fmt.Sprintf("--supplier-limit=%d", limit.Count), "--supplier-window=" + limit.Window.String(),
		}}
		b, err := burst.RunCalls(ctx, s.Start(ctx, t), algorithm, requests, send)
		t.Must(err)
		services.RecordBurst(t, b.Began, b.Events)
		t.Measure("supplier", int64(b.Seen), lab.Count.Of("calls made"))
		t.Measure("supplier", int64(len(b.Refused)), lab.Count.Of("calls refused"))
		t.Measure("supplier", int64(b.Over), lab.Count.Of("calls over the limit in one window, at most"))
		t.Must(b.Sound(instances))
	}
}
