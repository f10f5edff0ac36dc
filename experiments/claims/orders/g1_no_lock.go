package orders

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/services"
	"locklab/history"
)

var G1 = experiments.Experiment{
	ID:       "G1-no-lock",
	Articles: experiments.Articles{"A2"},
	Claim:    "Without a lock each instance grants the same order, and one instance alone grants it several times.",
	Says: `
		The service reads the order, sleeps, and sets it to taken if it was open. The article shows this code with a lock around it, and not
		without one.`,
	Lesson: experiments.Lesson{
		Question: `
			An order is open, and twenty drivers request it simultaneously. The service reads the order. If it is open, the service thinks for a
			moment and writes the driver into it. There is no lock. How many drivers are told that they have the order?`,
		Predict: `
			(a) One driver: the database protects the row. (b) One driver at each instance. (c) Several drivers, even at one instance.`,
		Why: `
			(c). Several drivers win, because each request that has read "open" goes on to write. The database executes every UPDATE correctly, and
			the last one decides whose order it is. The others were told that they won. The time for thinking only makes the gap wide enough to
			be hit in each run.`,
		Fix: `
			Write only if the order is still open: one conditional UPDATE does that (G6). Otherwise put the read and the write into a lock that
			all instances share (G3, G4).`,
		Limits: `
			The time for thinking stands for real work. Without it the gap is small, and a test may not hit it for months. Transactions are not
			tried here. A plain SELECT locks nothing at MySQL's default level, so a transaction alone would not help.`,
		Next: "G2-process-mutex adds a lock to each process, and G6-conditional-update needs none. P1-no-lock is the same mistake with a " +
			"counter. By hand: `app demo --versions v1`.",
		Level: experiments.Basic,
	},
	Drawing: `
driver 1 at instance-1   read: open   …thinks…   write: mine   "you have it"
driver 2 at instance-2     read: open   …thinks…   write: mine   "you have it"`,
	How: `
		20 drivers, ten for each instance, request one order simultaneously. Between reading and writing an instance thinks for 100 ms. In the
		control the drivers request it one after the other.`,
	Anomaly:  services.LostUpdate,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    grantedTwice,
	Variants: []experiments.Variant{
		{Name: "one driver at a time", Run: services.Grabs(services.Service{Version: "v1", Sequential: true})},
		{Name: "one instance", Expect: experiments.Sometimes, Run: services.Grabs(services.Service{Version: "v1", Instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Run: byBoth(services.Grabs(services.Service{Version: "v1"}))},
	},
}

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
func byBoth(run experiments.Scenario) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
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
