package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"locklab/lab/history"
	"locklab/lockstrategy"
)

// loads is an experiment whose trials are left to chance. The numbers of those that violate come from the test.
func loads(expect Expect, violating ...int) Experiment {
	e := withVariant(func(_ context.Context, t *Trial) {
		t.ByChance()
		t.Note("A", "it was here")
		if slices.Contains(violating, t.Number) {
			t.Mark("A", violated)
		}
	})
	e.Variants[1].Expect = expect
	return e
}

// A load over HTTP that does not show the violation that is expected is repeated, at most three times. The record, a run that is judged
// again, the table and the JSON have every try.
func TestATrialWithoutItsViolationIsRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		trials    int
		violating []int
		repeats   []int // of the variant's trials
		seen      string
		verdict   Verdict
	}{
		"the first shows it":    {1, []int{1}, []int{0}, "violation in 1 of 1 trial", AsExpected},
		"the second shows it":   {1, []int{2}, []int{0, 1}, "violation in 1 of 2 trials (1 repeat)", AsExpected},
		"the last repeat does":  {1, []int{4}, []int{0, 1, 2, 3}, "violation in 1 of 4 trials (3 repeats)", AsExpected},
		"none shows it":         {1, nil, []int{0, 1, 2, 3}, "no violation in 4 trials (3 repeats)", Inconclusive},
		"each is repeated":      {2, []int{2, 4}, []int{0, 1, 0, 3}, "violation in 2 of 4 trials (2 repeats)", AsExpected},
		"a fifth would show it": {1, []int{5}, []int{0, 1, 2, 3}, "no violation in 4 trials (3 repeats)", Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			e, store := loads(Sometimes, c.violating...), t.TempDir()
			var told TrialBegan
			run := Run(t.Context(), e, Options{Trials: c.trials, Store: store, Tell: func(e Event) {
				if begins, is := e.(TrialBegan); is {
					told = begins
				}
			}})
			again := Catalogue{e}.Rejudge(run.Dir)
			for _, s := range []Saved{run.Saved, again} {
				var repeats []int
				for i, one := range s.Record.Variants[1].Trials {
					repeats = append(repeats, one.Repeats)
					if len(history.Of(s.Record.Events, "subject", i+1)) == 0 || one.Number != i+1 {
						t.Errorf("trial %d is recorded as %+v", i+1, one)
					}
				}
				j := s.Judgement.Variants[1]
				if !slices.Equal(repeats, c.repeats) || j.Seen() != c.seen || j.Verdict != c.verdict {
					t.Errorf("it repeats %v: %s, %s; want %v: %s, %s", repeats, j.Seen(), j.Verdict, c.repeats, c.seen, c.verdict)
				}
			}
			text, err := json.Marshal(run)
			if says := `"repeats":`; err != nil || strings.Contains(string(text), says) != (run.Judgement.Variants[1].Repeats > 0) {
				t.Errorf("%v: %s", err, text)
			}
			if len(c.repeats) > 3 && c.trials == 1 && told != (TrialBegan{"X01-test", "subject", 4, 1, 1, 3}) {
				t.Errorf("it told %+v", told)
			}
		})
	}
}

// A trial was late when its record says so and another trial repeats it. A late trial that nothing repeats counts as any other.
func TestALateTrialHasARepeat(t *testing.T) {
	late := TrialRecord{Number: 2, Late: true}
	for _, c := range []struct {
		trials []TrialRecord
		want   bool
	}{
		{[]TrialRecord{{Number: 1}, late, {Number: 3, Repeats: 2}}, true},
		{[]TrialRecord{{Number: 1}, late, {Number: 3, Repeats: 1}}, false},
		{[]TrialRecord{{Number: 1}, late}, false},
		{[]TrialRecord{{Number: 1, Late: true}, {Number: 2}, {Number: 3, Repeats: 2}}, false},
	} {
		if got := (VariantRecord{Trials: c.trials}).wasLate(2); got != c.want {
			t.Errorf("%+v: %v, want %v", c.trials, got, c.want)
		}
	}
}

// A violation is never repeated away, and neither is a failure. A variant that expects no violation runs as often as it was to run.
func TestWhatIsNeverRepeated(t *testing.T) {
	forced := loads(Sometimes)
	forced.Variants[1].Run = func(_ context.Context, t *Trial) { t.Note("A", "it was here") }
	failed := loads(Sometimes)
	failed.Variants[1].Run = func(_ context.Context, t *Trial) { t.ByChance(); t.Must(errors.New("no server")) }
	control := loads(Sometimes, 1)
	control.Variants[0].Run = func(_ context.Context, t *Trial) { t.ByChance(); t.Mark("A", violated) }
	fragile := loads(Sometimes)
	fragile.Check = func([]history.Event) []history.Violation { panic("no such event") }
	for name, c := range map[string]struct {
		experiment Experiment
		verdict    Verdict
	}{
		"no violation is expected, and there is none": {loads(Never), AsExpected},
		"no violation is expected, and there is one":  {loads(Never, 1), Unexpected},
		"a forced interleaving":                       {forced, Inconclusive},
		"a trial that failed":                         {failed, Inconclusive},
		"a control with a violation":                  {control, Inconclusive},
		"a check that panics":                         {fragile, Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			r := Run(t.Context(), c.experiment, Options{Trials: 1}).Record
			if len(r.Variants[0].Trials) != 1 || len(r.Variants[1].Trials) != 1 {
				t.Errorf("it ran %+v", r.Variants)
			}
			if j := c.experiment.Judge(r); j.Verdict != c.verdict {
				t.Errorf("%s, want %s: %s", j.Verdict, c.verdict, j.Why)
			}
		})
	}
}

// A trial in which something was late is repeated with twice the time, whatever its variant expects. The record has every try, and a late
// one counts only if it shows a violation.
func TestALateTrialIsRepeatedWithMoreTime(t *testing.T) {
	timedOut, lost := fmt.Errorf("acquire: %w", context.DeadlineExceeded), fmt.Errorf("release: %w", lockstrategy.ErrUnreachable)
	for name, c := range map[string]struct {
		expect  Expect
		errs    []error // of the trials, by their number
		pace    Pace
		paces   []Pace // that the trials had
		late    int
		verdict Verdict
	}{
		"the first is late":       {Never, []error{timedOut}, 1.5, []Pace{1.5, 3}, 1, AsExpected},
		"a lease is lost":         {Never, []error{lost, lost}, 0, []Pace{0, 2, 4}, 2, AsExpected},
		"as slow as it gets":      {Never, []error{lost, lost, lost}, 4, []Pace{4, 5, 5, 5}, 3, AsExpected},
		"all are late":            {Never, []error{lost, lost, lost, lost}, 1, []Pace{1, 2, 4, 5}, 3, Inconclusive},
		"a violation is expected": {Sometimes, []error{timedOut}, 1, []Pace{1, 2}, 1, AsExpected},
		"a lease was taken away":  {Never, []error{lockstrategy.ErrForced}, 1, []Pace{1}, 0, Inconclusive},
		"a lease is gone":         {Never, []error{errors.Join(timedOut, lockstrategy.ErrGone)}, 1, []Pace{1}, 0, Inconclusive},
		"a connection is late":    {Never, []error{os.ErrDeadlineExceeded}, 1, []Pace{1, 2}, 1, AsExpected},
		"another failure":         {Never, []error{errors.New("no server")}, 1, []Pace{1}, 0, Inconclusive},
		"all of its time":         {Never, []error{errors.Join(timedOut, errNotOver)}, 1, []Pace{1}, 0, Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			var paces []Pace
			e := withVariant(func(_ context.Context, t *Trial) {
				paces = append(paces, t.pace)
				t.Note("A", "it was here")
				if t.Number <= len(c.errs) {
					t.Must(c.errs[t.Number-1])
				}
				if c.expect == Sometimes {
					t.Mark("A", violated)
				}
			})
			e.Variants[1].Expect = c.expect
			run := Run(t.Context(), e, Options{Trials: 1, Store: t.TempDir(), Pace: c.pace})
			for _, s := range []Saved{run.Saved, Catalogue{e}.Rejudge(run.Dir)} {
				j := s.Judgement.Variants[1]
				if !slices.Equal(paces, c.paces) || j.Trials != 1 || j.Late != c.late || s.Judgement.Verdict != c.verdict {
					t.Errorf("at %v: %s, %s: %s; want %v and %s", paces, j.Seen(), j.Verdict, j.Why, c.paces, c.verdict)
				}
				if says := fmt.Sprintf(" (%d late, run again)", c.late); strings.Contains(j.Seen(), says) != (c.late > 0) {
					t.Errorf("it says %q", j.Seen())
				}
			}
		})
	}
}

// A violation is never repeated away, also when the trial was late. With Once, a late trial is not repeated.
func TestALateTrialWithAViolationCounts(t *testing.T) {
	ran := 0
	e := withVariant(func(_ context.Context, t *Trial) {
		ran++
		t.Mark("A", violated)
		t.Must(context.DeadlineExceeded)
	})
	e.Variants[1].Expect = Never
	r := Run(t.Context(), e, Options{Trials: 1}).Record
	if j := e.Judge(r); j.Verdict != Unexpected || ran != 1 {
		t.Errorf("%d trials: %s", ran, j.Verdict)
	}
	r.Variants[1].Trials[0].Late = true
	r.Variants[1].Trials = append(r.Variants[1].Trials, TrialRecord{Number: 2, Repeats: 1}) // as if it had been repeated
	if j := e.Judge(r); j.Verdict != Unexpected {
		t.Errorf("it was repeated away: %s", j.Verdict)
	}
	e.Variants[1].Run = func(_ context.Context, t *Trial) { t.Must(context.DeadlineExceeded) }
	e.Variants[0].Run = func(_ context.Context, t *Trial) {
		t.Cleanup(func() error { return errors.New("a process is left") })
		t.Must(context.DeadlineExceeded)
	}
	if r := Run(t.Context(), e, Options{Trials: 1}).Record; len(r.Variants[0].Trials) != 1 {
		t.Errorf("what is left is repeated away: %+v", r.Variants[0])
	}
	if r := Run(t.Context(), e, Options{Trials: 1, Once: true}).Record; len(r.Variants[1].Trials) != 1 || e.Judge(r).Verdict != Inconclusive {
		t.Errorf("%+v", r.Variants[1])
	}
}

// A record in which a trial was repeated that expects no violation shows nothing: one with a violation may be missing.
func TestARecordWithARepeatThatMustNotBe(t *testing.T) {
	e := loads(Never)
	r := Run(t.Context(), e, Options{Trials: 2}).Record
	if j := e.Judge(r); j.Verdict != AsExpected {
		t.Fatalf("%+v", j)
	}
	r.Variants[1].Trials[1].Repeats = 1
	if j := e.Judge(r); j.Verdict != Inconclusive || !strings.Contains(j.Why, "trial 2: it repeats trial 1") {
		t.Errorf("%+v", j)
	}
}
