package limits

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var R1 = experiments.Experiment{
	ID:       "R1-local-counter",
	Title:    "A counter in each node",
	Articles: experiments.Articles{"A0"},
	Claim:    "A limit that each of twelve nodes counts for itself admits twelve times as many calls.",
	Says: `
		A0 has 12 nodes behind nginx. They call a supplier that allows 2000 calls a minute over all nodes together. A counter under a local
		lock limits one node, and a lock of one machine is not seen by another.`,
	Lesson: experiments.Lesson{
		Question: `
			A supplier allows 2000 calls a minute. Each of 12 nodes counts its own calls in memory, exactly, and stops at 2000. How many calls
			does the supplier get in a minute of high load?`,
		Predict: `
			(a) 2000. (b) A few more, from calls at the same moment. (c) Up to 24000.`,
		Why: `
			(c). Each counter is right for its node. The limit is a property of all nodes together, and no node knows what the others have counted.
			So twelve nodes admit twelve times the limit. A lock in the process changes nothing, because the counters are exact already. The same
			nodes with one counter in Redis admit the limit.`,
		Fix: `
			Count where all nodes can see it: in one Redis. Or give each node a twelfth of the limit, and lose what an idle node does not use
			(R7).`,
		Limits: `
			The nodes are twelve limiters in one program, each with a connection of its own. R0-twelve-instances starts twelve processes. Here the
			limit is 24 instead of 2000. The load is above the limit on every node: under a low load nobody notices the mistake.`,
		Next:  "R2-article-aspect counts in Redis, and still admits too much. P2-process-mutex shows the same mistake with a mutex.",
		Level: experiments.Basic,
	},
	Drawing: `
node-1    counter 1 … 24 │ refused
node-2    counter 1 … 24 │ refused         each node is exact
…
supplier  288 calls in one window          the limit is 24`,
	How: `
		One node, and then twelve simultaneously, call a supplier 36 times each. It allows 24 calls a minute. The supplier logs each call. A
		violation is any window of a minute with more than 24.`,
	Schedule: experiments.Schedule{Takes: 2 * time.Second},
	Check:    services.OverLimit(services.PerMinute),
	Variants: []experiments.Variant{
		{Name: "one node", Run: manyCalls("r1", 1)},
		{Name: "twelve nodes", Expect: experiments.Sometimes, Run: manyCalls("r1", services.SupplierNodes)},
		{Name: "twelve nodes, one counter in Redis", Run: manyCalls("r3", services.SupplierNodes)},
	},
}

// manyCalls lets each node call more often than all of them may.
func manyCalls(algorithm string, nodes int) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		c := services.StartCaller(ctx, t, algorithm, nodes, services.PerMinute)
		c.Together(ctx, 36)
		c.Sum()
	}
}
