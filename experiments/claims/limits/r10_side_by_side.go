package limits

import (
	"context"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/ratelimit"
)

var R10 = experiments.Experiment{
	ID:       "R10-side-by-side",
	Title:    "The algorithms side by side",
	Articles: experiments.Articles{"A0"},
	Claim:    "Of the ways to count over twelve nodes, only the log, a GCRA with a small burst, and a divided limit keep any window.",
	Says: `
		A0 ends with one algorithm, a counter that expires. It compares no others, and reports no numbers.`,
	Lesson: experiments.Lesson{
		Question: `
			Ten ways to count get the same calls of twelve nodes: all at the same moment, and then around the end of a window. Which of them stay
			within 24 calls in any 720 ms? And what does the question cost before each call?`,
		Predict: `
			(a) All that count in Redis. (b) All that count in one script. (c) Only those that look at any window, and they cost little more.`,
		Why: `
			(c). A counter that expires forgets all calls at the same moment, so the next window
			begins with the whole limit: r2, r3, r5 and r9. A counter in each node never knew the others: r1. GCRA keeps its own promise, burst and
			rate together, and r8 sets each of them to the limit. The log, r6 and r7 promise no more than the limit in any window, and keep it. In
			the table, every way through Redis costs about one round trip. The listing costs two.`,
		Fix: `
			Take r4 while the limit is thousands of calls, since it stores each of them. Take r6 for larger limits, if the callers can do without
			bursts. Take r3 if the supplier counts in windows of its own, and allows twice the limit around their border.`,
		Limits: `
			The times are of one machine, with Redis beside the nodes and one caller. r6 refuses most of these calls because they come in bursts:
			under even load it admits its rate. Nothing fails here: R5 and R6 show that.`,
		Next:  "R4-window-edge explains the border, R2-article-aspect the listing, R7-split-limit the divided limit.",
		Level: experiments.Medium,
	},
	Drawing: `
12 nodes together      48 calls are tried
one window later       1 …      23 at half of the window …     24 after its end`,
	How: `
		The supplier allows 24 calls in 720 ms: 2000 calls a minute. Twelve nodes try four calls each, simultaneously. When these have left
		the window, one call is tried, 23 at half of the next window, and 24 after 720 ms. Then one node asks 500 times, one request after the
		other, for an operation with a high limit. Each time is what a call waits for the answer.`,
	Schedule: experiments.Schedule{Alone: true, Slow: true, Takes: 19 * time.Second, Trials: 1}, // each waits for two windows
	Check:    services.OverLimit(services.PerMoment),
	Variants: func() (all []experiments.Variant) {
		for _, a := range ratelimit.All() {
			v := experiments.Variant{Name: a.Name + ": " + a.Title, Run: sideBySide(a.Name)}
			if a.Exceeds {
				v.Expect = experiments.Sometimes
			}
			all = append(all, v)
		}
		i := slices.IndexFunc(all, func(v experiments.Variant) bool { return v.Expect == experiments.Never })
		return slices.Concat(all[i:i+1], all[:i], all[i+1:]) // the control first
	}(),
}

func sideBySide(algorithm string) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		c := services.StartCaller(ctx, t, algorithm, services.SupplierNodes, services.PerMoment)
		c.Warm(ctx)
		c.Together(ctx, 4)
		count := func(kind history.Kind) (n int64) {
			for _, e := range t.Events() {
				if e.Kind == kind {
					n++
				}
			}
			return n
		}
		together := count(history.Call)
		t.Measure("all nodes", together, experiments.Count.Of("made of 48 calls together"))
		t.Measure("all nodes", count(history.Refuse), experiments.Count.Of("refused of them"))
		time.Sleep(c.Limit.Window + 50*time.Millisecond)
		c.AroundTheEnd(ctx)
		t.Measure("all nodes", count(history.Call)-together, experiments.Count.Of("made of 48 calls around the end"))
		most, over := services.OverLimit(c.Limit)(t.Events()), int64(0)
		if len(most) > 0 {
			over = int64(len(most[0].Events) - c.Limit.Count)
		}
		t.Measure("all nodes", over, experiments.Count.Of("over the limit in one window, at most"))
		askAlone(ctx, c)
	}
}

// askAlone measures the time of a question.
func askAlone(ctx context.Context, c *services.Caller) {
	const questions = 500
	times := make([]time.Duration, questions)
	for i := range times {
		began := time.Now()
		_, err := c.Limiters[0].Allow(ctx, ratelimit.Limit{Key: "alone", Count: 1_000_000, Window: time.Minute})
		c.Must(err)
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	c.Measure("all nodes", times[questions/2].Microseconds(), experiments.Microseconds.Of("added to a call, the median"))
	c.Measure("all nodes", times[questions*99/100].Microseconds(), experiments.Microseconds.Of("added to a call, the 99th percentile"))
}
