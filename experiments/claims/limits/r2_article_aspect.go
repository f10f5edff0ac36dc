package limits

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var R2 = experiments.Experiment{
	ID:       "R2-article-aspect",
	Title:    "A0's listing: compare, then count",
	Articles: experiments.Articles{"A0"},
	Claim: `
		A0's listing compares before it counts: callers that compare together pass together, and a caller alone gets one call too many.`,
	Says: `
		An aspect around the supplier's method reads the counter. If it is above the limit, the method returns null. Otherwise a script
		increments the counter and sets its expiry, and the supplier is called.`,
	Errata: []experiments.Erratum{{
		Article: "A0", What: `
		The aspect reads the counter and compares before it runs the script, and never looks at the script's result. Concurrent callers pass
		together, and even a caller alone is admitted once too often, because the comparison is > and not >=.`,
		Where: "section 6, the aspect: `currentCount>limit`; `Long incNum`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A counter in Redis is read by GET. If it is not above the limit, an atomic script increments it, and the call is made. One caller
			works alone, and then twelve work together. Does the supplier get more calls than it allows?`,
		Predict: `
			(a) No: the script is atomic. (b) Only together, because of the gap between GET and the script. (c) In both cases.`,
		Why: `
			(c). The script counts atomically, and nobody reads what it returns. The decision was made before, by a GET. Twelve callers read
			the same number, all are below the limit, and all count and call. The caller alone is admitted at a counter of 24, because 24 is not
			above 24. With >= the lonely caller is right, and twelve together still exceed.`,
		Fix: `
			Decide by what the atomic command returns, not by what was read before. One script that compares and counts is enough: r3. The
			answer of a refused call is an error that says when to come back, and no null.`,
		Limits: `
			Twelve callers pass here because the run lets each wait for the others between GET and script. Without this they exceed by fewer
			calls, or by none in a lucky run. How many depends on the load.`,
		Next: "R3-fixed-window decides in the script. R9-counter-lock puts a lock around this listing, and measures its price. P1-no-lock is " +
			"the same gap with page views.",
		Level: experiments.Basic,
	},
	Drawing: `
node-1    GET → 23   23 > 24? no             INCR → 24   call
node-2    GET → 23   23 > 24? no             INCR → 25   call      over the limit of 24
…         all have compared before the first script
node-12   GET → 23   23 > 24? no             INCR → 35   call`,
	How: `
		The supplier allows 24 calls a minute. One node calls 23 times. Then all twelve nodes call once: each waits before its script until all
		are there. The script of the control has not compared yet at that point, and the listing has. For one caller alone, one node calls 36
		times.`,
	Schedule: experiments.Schedule{Takes: 3 * time.Second},
	Check:    services.OverLimit(services.PerMinute),
	Variants: []experiments.Variant{
		{Name: "one script, twelve together", Run: compareTogether("r3")},
		{Name: "as printed, one caller alone", Expect: experiments.Sometimes, Run: callAlone("r2")},
		{Name: "as printed, twelve together", Expect: experiments.Sometimes, Run: compareTogether("r2")},
		{Name: "with >=, one caller alone", Run: callAlone("r9")},
		{Name: "with >=, twelve together", Expect: experiments.Sometimes, Run: compareTogether("r9")},
	},
}

func callAlone(algorithm string) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		c := services.StartCaller(ctx, t, algorithm, 1, services.PerMinute)
		c.Call(ctx, 0, 36)
		c.Sum()
	}
}

func compareTogether(algorithm string) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		c := services.StartCaller(ctx, t, algorithm, services.SupplierNodes, services.PerMinute)
		c.CompareTogether(ctx)
		c.Sum()
	}
}
