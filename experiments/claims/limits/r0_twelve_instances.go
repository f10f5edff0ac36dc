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
	Title:    "Twelve instances, one supplier",
	Articles: experiments.Articles{"A0"},
	Claim: `
		Behind a balancer, twelve instances with a counter each exceed the supplier's limit, and with one counter in Redis they do not.`,
	Says: `
		A0's resource service runs on 12 machines behind nginx, which spreads the requests evenly. Its supplier allows 2000 calls a minute over
		all of them.`,
	Lesson: experiments.Lesson{
		Question: `
			Twelve processes of the same program call one supplier over HTTP. Each keeps the limit by a counter in memory. Then they share a
			counter in Redis. What does the supplier see in each case?`,
		Predict: `
			(a) The limit, in both cases. (b) Twelve times the limit at most, and then the limit. (c) Twelve times the limit in both cases.`,
		Why: `
			(b). The counter in memory belongs to one process. The balancer gives each process a twelfth of the requests, and each process admits as
			many as the limit allows. The counter in Redis belongs to all processes. Each asks it by one script before a call, and the process
			that is refused answers 429 with the time to come back.`,
		Fix: `
			Ask a shared counter before each call. A transport of the HTTP client asks for every call of an operation, and forgets none. Tell the
			user when to come back.`,
		Limits: `
			The stand-in for the supplier logs the calls in the same Redis. All processes run on one machine and have one clock. The limit is 24
			calls a minute. A single burst cannot show what happens where two windows meet.`,
		Next: "R1-local-counter shows the same inside one program, and R4-window-edge the border of two windows. By hand: `app demo --keep " +
			"--instances 12 --listen 127.0.0.1:8000`, and k6 with loadtest/k6/ratelimit.js.",
		Level: experiments.Basic,
	},
	Drawing: `
requests → balancer ─┬─ instance-1   counter ─┐
                     ├─ instance-2   counter ─┼→ supplier: 24 calls a minute
                     └─ …            counter ─┘   a counter each: 12 × 24`,
	How: `
		432 simultaneous requests, each on an open connection, go to one instance and to twelve. In the last variant each instance has a
		twelfth of the limit, and asks nobody. Each request is a call to the supplier, which
		allows 24 calls a minute and logs them. The log and the answers must agree on the number of calls, and each instance must have
		answered its part of the requests.`,
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
