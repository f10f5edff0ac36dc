package terminal

import (
	"math"
	"strings"
	"testing"
	"time"

	"locklab/lab"
)

// Of 2 experiments beside each other and one alone, all of 8 s, each of the first two takes a quarter of the whole time. --quick leaves
// out a slow variant and two of three trials.
func TestTheWorkThatIsOver(t *testing.T) {
	schedule := lab.Schedule{Takes: 8 * time.Second}
	a := lab.Experiment{ID: "L1", Schedule: schedule, Variants: make([]lab.Variant, 1)}
	b := lab.Experiment{ID: "L2", Schedule: schedule, Variants: []lab.Variant{{}, {Slow: true}}}
	schedule.Alone = true
	alone := lab.Experiment{ID: "L3", Schedule: schedule, Variants: make([]lab.Variant, 1)}
	all := []lab.Experiment{a, b, alone}

	var out strings.Builder
	p := NewProgress(&out, false, all, 4, lab.Options{Real: true})
	over := func(e lab.Experiment, took time.Duration) {
		var r lab.Result
		r.Experiment, r.Record.Took, r.Judgement.Verdict = e, took, lab.AsExpected
		p.Tell(lab.Finished{Experiment: e.ID, Result: r})
	}
	want := func(share float64) {
		t.Helper()
		if got := p.done(); math.Abs(got-share) > 1e-9 {
			t.Errorf("%v of the work is over, want %v\n%s", got, share, out.String())
		}
	}
	p.Tell(lab.TrialBegan{Experiment: a.ID, Variant: "first", Trial: 1, Trials: 3})
	want(0)
	p.Tell(lab.TrialBegan{Experiment: a.ID, Variant: "second", Trial: 1, Trials: 3})
	want(0.25 / 3)
	for range 5 { // repeated, so that there are more than expected
		p.Tell(lab.TrialBegan{Experiment: a.ID, Variant: "more", Trial: 1, Trials: 3})
	}
	want(0.25 * 2 / 3)
	over(a, 1500*time.Millisecond)
	want(0.25)
	over(b, 1500*time.Millisecond)
	p.Tell(lab.TrialBegan{Experiment: alone.ID, Variant: "begins", Trial: 1, Trials: 3})
	want(0.5)
	if end := "2/3 L2: as predicted (1.5 s)\n3/3 L3: begins, trial 1 of 3\n"; !strings.HasSuffix(out.String(), end) {
		t.Errorf("%q, want %q at its end", out.String(), end)
	}

	p = NewProgress(&out, false, all, 4, lab.Options{Real: true, Quick: true, Trials: 1}) // 8/3, 8/6 and 8/3 s
	over(b, time.Second)
	want((8.0 / 6 / 2) / (8.0/3/2 + 8.0/6/2 + 8.0/3))
}
