package limits

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var R7 = experiments.Experiment{
	ID:       "R7-split-limit",
	Title:    "A part of the limit for each node",
	Articles: experiments.Articles{"A0"},
	Claim: `
		A twelfth of the limit for each node is never exceeded and needs no Redis; under skewed load it refuses what others do not use.`,
	Says: `
		A0 does not consider to divide the limit. Its nginx spreads the load evenly over the 12 nodes.`,
	Lesson: experiments.Lesson{
		Question: `
			Each of twelve nodes may make a twelfth of the calls, and counts them in memory. The load is twice the limit. It is even, and then one
			node has all of it. How many of 24 allowed calls are made?`,
		Predict: `
			(a) 24 in both cases. (b) 24, and then 2. (c) Fewer than 24 in both cases.`,
		Why: `
			(b). The parts add up to the limit, so that it is never exceeded, in any window. Under even load each node uses its part. Under skewed
			load the parts of the idle nodes are lost: one node makes two calls, and refuses 22 that the supplier would take. One counter for all
			nodes admits all 24, whichever node asks.`,
		Fix: `
			Divide the limit where the load is even, the limit is large, and Redis must not be needed. Otherwise share one counter. A mix works
			too: each node fetches several calls in one request to the shared counter.`,
		Limits: `
			The number of nodes is a setting: a node that is added without it exceeds the limit. Parts are rounded down, so that 2000 calls over
			12 nodes are 1992. A limit below the number of nodes cannot be divided. The mix is not shown.`,
		Next:  "R1-local-counter gives each node the whole limit. R6-failing-store shows what a shared counter costs when Redis dies.",
		Level: experiments.Basic,
	},
	Drawing: `
even      node-1 … node-12   2 calls each, then refused     24 of 24
skewed    node-1             2 calls, then refused           2 of 24
          node-2 … node-12   idle: 22 calls are lost`,
	How: `
		The supplier allows 24 calls a minute, and 48 are tried: four by each of twelve nodes, or all by one node. Both are done with a part
		for each node, and with one counter in Redis. No variant exceeds the limit. Where fewer than 24 calls were made, calls were refused
		although the supplier had room.`,
	Schedule: experiments.Schedule{Takes: 3 * time.Second},
	Check:    services.OverLimit(services.PerMinute),
	Variants: []experiments.Variant{
		{Name: "one counter, even load", Run: spreadLoad("r3", even)},
		{Name: "one counter, skewed load", Run: spreadLoad("r3", skewed)},
		{Name: "limit / 12, even load", Run: spreadLoad("r7", even)},
		{Name: "limit / 12, skewed load", Run: spreadLoad("r7", skewed)},
	},
}

func even(ctx context.Context, c *services.Caller) { c.Together(ctx, 2*c.Limit.Count/len(c.Limiters)) }

func skewed(ctx context.Context, c *services.Caller) { c.Call(ctx, 0, 2*c.Limit.Count) }

func spreadLoad(algorithm string, load func(context.Context, *services.Caller)) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		c := services.StartCaller(ctx, t, algorithm, services.SupplierNodes, services.PerMinute)
		load(ctx, c)
		c.Sum()
	}
}
