package limits

import (
	"context"
	"slices"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/systems/ratelimit"
)

var R10 = Experiments.Add(lab.Experiment{
	ID:       "R10-side-by-side",
	Articles: lab.Articles{"A0"},
	Claim:    "Of the ways to count over twelve nodes, only the log, a GCRA with a small burst, and a divided limit keep any window.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Alone: true, Slow: true, Takes: 19 * time.Second, Trials: 1}, // each waits for two windows
	Check:    services.OverLimit(services.PerMoment),
	Variants: func() (all []lab.Variant) {
		for _, a := range ratelimit.All() {
			v := lab.Variant{Name: a.Name + ": " + a.Title, Run: sideBySide(a.Name)}
			if a.Exceeds {
				v.Expect = lab.Sometimes
			}
			all = append(all, v)
		}
		i := slices.IndexFunc(all, func(v lab.Variant) bool { return v.Expect == lab.Never })
		return slices.Concat(all[i:i+1], all[:i], all[i+1:]) // the control first
	}(),
})

func sideBySide(algorithm string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		c := services.OpenCaller(t, clients.StartRedis(ctx, t).Node, algorithm, services.SupplierNodes, services.PerMoment)
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
		t.Measure("all nodes", together, lab.Count.Of("made of 48 calls together"))
		t.Measure("all nodes", count(history.Refuse), lab.Count.Of("refused of them"))
		time.Sleep(c.Limit.Window + 50*time.Millisecond)
		services.AroundTheEnd(ctx, c)
		t.Measure("all nodes", count(history.Call)-together, lab.Count.Of("made of 48 calls around the end"))
		most, over := services.OverLimit(c.Limit)(t.Events()), int64(0)
		if len(most) > 0 {
			over = int64(len(most[0].Events) - c.Limit.Count)
		}
		t.Measure("all nodes", over, lab.Count.Of("over the limit in one window, at most"))
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
	c.Measure("all nodes", times[questions/2].Microseconds(), lab.Microseconds.Of("added to a call, the median"))
	c.Measure("all nodes", times[questions*99/100].Microseconds(), lab.Microseconds.Of("added to a call, the 99th percentile"))
}
