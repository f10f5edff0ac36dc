package limits

import (
	"context"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
)

var R3 = Experiments.Add(lab.Experiment{
	ID:       "R3-fixed-window",
	Articles: lab.Articles{"A0"},
	Claim:    "INCR and EXPIRE in one script that decides admit exactly the limit in each window, over twelve nodes.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 2 * time.Second},
	Check:    exactly,
	Variants: []lab.Variant{
		{Name: "one script", Run: twoWindows("r3")},
		{Name: "INCR, then EXPIRE", Run: twoWindows("r5")},
		{Name: "a counter in each node", Expect: lab.Sometimes, Run: twoWindows("r1")},
	},
})

// nextWindow is noted between two windows.
var nextWindow = history.Mark{Name: "the window is over"}

func twoWindows(algorithm string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		c := services.OpenCaller(t, clients.StartRedis(ctx, t).Node, algorithm, services.SupplierNodes, services.PerMinute)
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
