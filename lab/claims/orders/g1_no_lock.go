package orders

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/history"
)

var G1 = Experiments.Add(lab.Experiment{
	ID:       "G1-no-lock",
	Articles: lab.Articles{"A2"},
	Claim:    "Without a lock each instance grants the same order, and one instance alone grants it several times.",
	Level:    lab.Basic,
	Anomaly:  services.LostUpdate,
	Schedule: lab.Schedule{Takes: 4 * time.Second},
	Check:    grantedTwice,
	Variants: []lab.Variant{
		{Name: "one driver at a time", Run: services.Grabs(services.Service{Version: "v1", Sequential: true})},
		{Name: "one instance", Expect: lab.Sometimes, Run: services.Grabs(services.Service{Version: "v1", Instances: 1})},
		{Name: "two instances", Expect: lab.Sometimes, Run: byBoth(services.Grabs(services.Service{Version: "v1"}))},
	},
})

// grantedTwice finds two winners: by two instances where there are such, otherwise any two.
func grantedTwice(trial []history.Event) (found []history.Violation) {
	var first history.Event
	for _, e := range trial {
		switch {
		case e.Kind != history.Win:
		case first.Seq == 0:
			first = e
		case winningInstance(e) != winningInstance(first):
			what := fmt.Sprintf("%s and %s both won %s", first.Timeline, e.Timeline, e.Key)
			return []history.Violation{{What: what, Events: []int{first.Seq, e.Seq}}}
		}
	}
	return history.Winners(trial)
}

// winningInstance is the name of the instance that recorded a winner. Runs that were saved before a win had that name have it in the text.
func winningInstance(win history.Event) string { return cmp.Or(win.Name, win.Text) }

// byBoth ends the trial unless both instances have granted the order.
func byBoth(run lab.Scenario) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		run(ctx, t)
		by := make(map[string]bool)
		for _, e := range t.Events() {
			if e.Kind == history.Win {
				by[winningInstance(e)] = true
			}
		}
		if len(by) < 2 {
			t.Must(fmt.Errorf("the winners are by %d of two instances", len(by)))
		}
	}
}
