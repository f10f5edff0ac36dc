package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"locklab/history"
)

// loads is an experiment whose trials are left to chance. The numbers of those that violate come from the test.
func loads(expect Expect, violating ...int) Experiment {
	e := withVariant(func(_ context.Context, t *Trial) {
		t.ByChance()
		t.Note("A", "it was here")
		if slices.Contains(violating, t.Number) {
			t.Note("A", violated)
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
			var told []string
			run := e.RunAndSave(t.Context(), store, Options{Trials: c.trials, Tell: func(_ Experiment, what string) { told = append(told, what) }})
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
			if len(c.repeats) > 3 && c.trials == 1 && told[len(told)-1] != "X01-test: subject, trial 1 of 1, repeat 3 of at most 3" {
				t.Errorf("it told %q", told)
			}
		})
	}
}

// A violation is never repeated away, and neither is a failure. A variant that expects no violation runs as often as it was to run.
func TestWhatIsNeverRepeated(t *testing.T) {
	forced := loads(Sometimes)
	forced.Variants[1].Run = func(_ context.Context, t *Trial) { t.Note("A", "it was here") }
	failed := loads(Sometimes)
	failed.Variants[1].Run = func(_ context.Context, t *Trial) { t.ByChance(); t.Must(errors.New("no server")) }
	control := loads(Sometimes, 1)
	control.Variants[0].Run = func(_ context.Context, t *Trial) { t.ByChance(); t.Note("A", violated) }
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
			r := Run(t.Context(), c.experiment, Options{Trials: 1})
			if len(r.Variants[0].Trials) != 1 || len(r.Variants[1].Trials) != 1 {
				t.Errorf("it ran %+v", r.Variants)
			}
			if j := c.experiment.Judge(r); j.Verdict != c.verdict {
				t.Errorf("%s, want %s: %s", j.Verdict, c.verdict, j.Why)
			}
		})
	}
}

// A record in which a trial was repeated that expects no violation shows nothing: one with a violation may be missing.
func TestARecordWithARepeatThatMustNotBe(t *testing.T) {
	e := loads(Never)
	r := Run(t.Context(), e, Options{Trials: 2})
	if j := e.Judge(r); j.Verdict != AsExpected {
		t.Fatalf("%+v", j)
	}
	r.Variants[1].Trials[1].Repeats = 1
	if j := e.Judge(r); j.Verdict != Inconclusive || !strings.Contains(j.Why, "trial 2: it repeats trial 1") {
		t.Errorf("%+v", j)
	}
}
