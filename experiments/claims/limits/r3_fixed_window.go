package limits

import (
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
	"locklab/history"
)

var R3 = experiments.Experiment{
	ID:       "R3-fixed-window",
	Title:    "One script, a fixed window",
	Articles: experiments.Articles{"A0"},
	Claim:    "INCR and EXPIRE in one script that decides admit exactly the limit in each window, over twelve nodes.",
	Says: `
		A0's counter is an INCR with an EXPIRE in one script. When the key expires, the next call begins a new window.`,
	Lesson: experiments.Lesson{
		Question: `
			Twelve nodes share a counter in Redis. One script reads it, refuses at the limit, increments it, and sets its expiry with the first
			call. How many calls are admitted in each window under a load of twice the limit?`,
		Predict: `
			(a) Exactly the limit. (b) The limit and a few more. (c) Fewer, because refused calls are counted, too.`,
		Why: `
			(a). Exactly the limit. Redis executes one script at a time, so that no call comes between the comparison and the INCR. The caller does
			what the reply says. When the window ends, Redis deletes the key, and the next call begins a window with the whole limit.`,
		Fix: `
			Let one script decide and count, and obey its reply. Keep one key for each operation. No lock is needed (R9).`,
		Limits: `
			The windows begin with a call, and are not those of the supplier's clock. A window of the supplier that lies across the border of two
			of ours can see up to twice the limit: R4. The time moves here by shorter lives of the keys, and nobody waits a minute.`,
		Next: "R4-window-edge calls around the border of two windows. R5-incr-then-expire takes the script apart. R8-script-fails-midway lets " +
			"a script fail.",
		Level: experiments.Basic,
	},
	Drawing: `
window 1   calls 1 … 24 │ refused 24 times
           (a minute)   the key expires
window 2   calls 1 … 24 │ refused 24 times`,
	How: `
		Twelve nodes call four times each, simultaneously: twice the limit of 24 calls a minute. The window ends, and they do it again. A
		violation is a window in which not exactly 24 calls were made. INCR and EXPIRE as two commands are exact, too, as long as nobody
		crashes between them.`,
	Schedule: experiments.Schedule{Takes: 2 * time.Second},
	Check:    exactly,
	Variants: []experiments.Variant{
		{Name: "one script", Run: twoWindows("r3")},
		{Name: "INCR, then EXPIRE", Run: twoWindows("r5")},
		{Name: "a counter in each node", Expect: experiments.Sometimes, Run: twoWindows("r1")},
	},
}

// nextWindow is noted between two windows.
var nextWindow = history.Mark{Name: "the window is over"}

func twoWindows(algorithm string) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		c := services.StartCaller(ctx, t, algorithm, services.SupplierNodes, services.PerMinute)
		for range 2 {
			c.Together(ctx, 4)
			c.PassTime(ctx, c.Limit.Window)
			t.Mark("supplier", nextWindow)
		}
	}
}

// exactly finds windows with more or fewer calls than the limit.
func exactly(trial []history.Event) (found []history.Violation) {
	window, calls := 1, []int{}
	for _, e := range trial {
		switch {
		case e.Kind == history.Call:
			calls = append(calls, e.Seq)
		case e.Kind == history.Note && nextWindow.In(e):
			if len(calls) != services.PerMinute.Count {
				what := fmt.Sprintf("window %d admitted %d calls; the supplier allows %d", window, len(calls), services.PerMinute.Count)
				found = append(found, history.Violation{Key: "supplier", What: what, Events: append(calls, e.Seq)})
			}
			window, calls = window+1, nil
		}
	}
	return found
}
