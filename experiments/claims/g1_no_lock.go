package claims

import (
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "G1-no-lock",
	Article: "A2",
	Claim:   "Without a lock each instance grants the same order, and so does one instance alone, again and again.",
	Says:    "The order is read, and if it is open it is set to taken; with nothing around that, drivers at both ports get it.",
	Drawing: `
driver 1 at instance-1   read: open   …thinks…   write: mine   "you have it"
driver 2 at instance-2     read: open   …thinks…   write: mine   "you have it"`,
	How:     "20 drivers, ten for each instance, want one order at the same moment; between reading and writing an instance thinks for 100 ms. The control lets them ask one after the other.",
	Anomaly: lostUpdate,
	Takes:   4 * time.Second,
	Check:   granted,
	Variants: []experiments.Variant{
		{Name: "one driver at a time", Run: grabs(service{version: "v1", inTurn: true})},
		{Name: "one instance", Expect: experiments.Sometimes, Run: grabs(service{version: "v1", instances: 1})},
		{Name: "two instances", Expect: experiments.Sometimes, Run: byEach(grabs(service{version: "v1"}))},
	},
})

// granted is two winners: a winner by one instance beside the first by the other, where there are both.
func granted(events []history.Event) (found []history.Violation) {
	var first history.Event
	for _, e := range events {
		switch {
		case e.Kind != history.Win:
		case first.Seq == 0:
			first = e
		case e.Text != first.Text:
			return explained(events, []history.Violation{{What: fmt.Sprintf("%s and %s both won %s", first.Timeline, e.Timeline, e.Key), Events: []int{first.Seq, e.Seq}}})
		}
	}
	return twoWinners(events)
}

// byEach shows nothing unless each instance has granted the order.
func byEach(run func(context.Context, *experiments.Trial) error) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		if err := run(ctx, t); err != nil {
			return err
		}
		by := make(map[string]bool)
		for _, e := range t.Events() {
			if e.Kind == history.Win {
				by[e.Text] = true
			}
		}
		if len(by) < 2 {
			return fmt.Errorf("the winners are by %d of two instances", len(by))
		}
		return nil
	}
}
