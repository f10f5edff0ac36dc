package limits

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
)

var R4 = experiments.Experiment{
	ID:       "R4-window-edge",
	Title:    "The border of two windows",
	Articles: experiments.Articles{"A0"},
	Claim:    "A fixed window admits nearly twice the limit around its end; a sliding window does not, and GCRA with a small burst does not.",
	Says: `
		A0's counter has a window of a minute, which begins with its first call. A0 does not discuss what happens where two windows meet.`,
	Errata: []experiments.Erratum{{
		Article: "A0", What: `
		A0 does not mention that a fixed window admits up to twice the limit around the border of two windows.`,
		Where: "section 5, the counter: `redis + incr`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A counter admits exactly 2000 calls in each window of a minute, and then begins anew. The supplier looks at any 60 seconds. How many
			calls can it see?`,
		Predict: `
			(a) 2000 at most. (b) A few more, because clocks differ. (c) Nearly 4000.`,
		Why: `
			(c). Nearly 4000. One call opens a window, the other 1999 come at its end, and 2000 more at the beginning of the next one. Both windows
			are within the limit, and a window across their border is not. A log of the last calls is exact, because it asks about the window that
			ends now. GCRA admits a burst and a constant rate. In any window both add up: with redis_rate.PerMinute each of them is the whole
			limit.`,
		Fix: `
			Ask the supplier how it counts. If any minute counts, use the log (r4), or GCRA with burst and rate that add up to the limit (r6). The
			log stores a time for each call, and GCRA one number.`,
		Limits: `
			A log counts when it admits, and the supplier when the call arrives. Declare a window that is longer by the largest delay on the way.
			With its small burst this GCRA refuses calls that the supplier would take.`,
		Next:  "R3-fixed-window is exact in each of its windows. R7-split-limit has no border, and wastes a part of the limit.",
		Level: experiments.Medium,
	},
	Drawing: `
           │ window 1                      │ window 2                   │
calls      1                    2 … 24     1 … 24
supplier                        └─ 47 calls, the limit is 24 ─┘`,
	How: `
		The supplier allows 24 calls in 720 ms: 2000 calls a minute. One call opens the window. When half of it is over, 23 calls are tried.
		After 720 ms 24 more are tried. The control tries twice as many calls as allowed inside one window. Of a
		slow trial, in which these moments were missed, nothing is concluded.`,
	Schedule: experiments.Schedule{Alone: true, Slow: true, Takes: 8 * time.Second, Trials: 2}, // each waits for a window
	Check:    services.OverLimit(services.PerMoment),
	Variants: []experiments.Variant{
		{Name: "fixed window, inside it", Run: insideOneWindow},
		{Name: "fixed window, around its end", Expect: experiments.Sometimes, Run: aroundTheEnd("r3")},
		{Name: "sliding window, a log", Run: aroundTheEnd("r4")},
		{Name: "GCRA, burst and rate are the limit", Run: aroundTheEnd("r6")},
		{Name: "GCRA, each is the limit", Expect: experiments.Sometimes, Run: aroundTheEnd("r8")},
	},
}

func insideOneWindow(ctx context.Context, t *experiments.Trial) {
	c := services.StartCaller(ctx, t, "r3", services.SupplierNodes, services.PerMinute) // its window ends after the trial
	c.Together(ctx, 4)
	c.Sum()
}

// aroundTheEnd calls once, at half of the window up to the limit, and up to the limit when the first call has left the window.
func aroundTheEnd(algorithm string) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		c := services.StartCaller(ctx, t, algorithm, services.SupplierNodes, services.PerMoment)
		c.Warm(ctx)
		c.AroundTheEnd(ctx)
		c.Sum()
	}
}
