package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab/history"
)

// A claim that is not ready for what was recorded loses no run: it is saved, and inconclusive.
func TestRunSavesWhatCannotBeJudged(t *testing.T) {
	note := func(_ context.Context, t *Trial) { t.Note("A", "it was here") }
	e := Experiment{
		ID: "X01-fragile", Variants: []Variant{{Name: "control", Run: note}, {Name: "subject", Run: note}},
		Check: func([]history.Event) []history.Violation { panic("no such event") },
	}
	run := Run(t.Context(), e, Options{Trials: 1, Store: t.TempDir()})
	if j := run.Judgement; !j.Void || !strings.Contains(j.Why, "makes no sense: no such event") || run.NotSaved != "" {
		t.Errorf("%+v", run)
	}
	if record, err := Load(run.Dir); err != nil || record.Count != 2 {
		t.Errorf("saved: %v, %+v", err, record)
	}
}

// A run that cannot be saved is judged, and the results say why it is not saved.
func TestARunThatIsNotSaved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e := withVariant(func(_ context.Context, t *Trial) { t.Mark("A", violated) })
	saved, lost := Run(t.Context(), e, Options{Trials: 1, Store: t.TempDir()}), Run(t.Context(), e, Options{Trials: 1, Store: file})
	if lost.Judgement.Verdict != AsExpected || !strings.Contains(lost.NotSaved, "save the run: ") {
		t.Errorf("%+v", lost)
	}
	want := "X01-test is judged and not saved: " + lost.NotSaved
	if err := (&Results{Runs: []Result{saved, lost}}).NotSaved(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A run in containers starts and stops them; a run of one trial is shorter than one of three.
func TestUsualSecondsAreThoseOfTheSamePlaceAndNumberOfTrials(t *testing.T) {
	e := Experiment{ID: "F99-place", Schedule: Schedule{Takes: 6 * time.Second, Docker: 60 * time.Second}, Variants: make([]Variant, 2)}
	for _, c := range []struct {
		where  Options
		trials int
		usual  time.Duration
	}{
		{Options{}, 3, 6 * time.Second},
		{Options{}, 1, 2 * time.Second},
		{Options{Docker: "dir", Image: "redis:7"}, 3, time.Minute},
		{Options{Docker: "dir", Image: "redis:7"}, 1, 20 * time.Second},
		{Options{}, 0, 0},
	} {
		run := Result{Saved: Saved{Experiment: e, Record: Record{
			Containers: c.where.Docker != "",
			Variants:   []VariantRecord{{Trials: make([]TrialRecord, c.trials)}, {Trials: make([]TrialRecord, c.trials)}},
		}}}
		if got := run.Usual(); got != c.usual {
			t.Errorf("%d trials, %s: %s, want %s", c.trials, c.where.Engine(), got, c.usual)
		}
		if c.where.Trials = c.trials; c.trials > 0 {
			if trials, takes := c.where.Work(e); trials != 2*c.trials || takes != c.usual {
				t.Errorf("%d trials, %s: the work is %d trials in %s, want %s", c.trials, c.where.Engine(), trials, takes, c.usual)
			}
		}
	}
}

// After the end of its context no run begins, and nothing is shown. The worst verdict is that of all runs.
func TestRunsThatWereNotBegun(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	all := []Experiment{{ID: "L1"}, {ID: "L2", Schedule: Schedule{Alone: true}}}
	results := RunAll(ended, all, 1, func(Experiment) Result { t.Error("it was begun"); return Result{} })
	for i, r := range results {
		if j := r.Judgement; j.Experiment != all[i].ID || !j.Void || j.Why != "it was not begun" {
			t.Errorf("%+v", j)
		}
	}
	good := Result{Saved: Saved{Judgement: Judgement{Verdict: AsExpected}}}
	if one, both := WorstOf([]Result{good}), WorstOf([]Result{good, results[0]}); one != AsExpected || both != Inconclusive {
		t.Errorf("the worst verdicts are %s and %s", one, both)
	}
}

// The longest experiments begin first. Experiments that measure run after all others, and the results keep the order of the list.
func TestRunAllBeginsWithTheLongest(t *testing.T) {
	var began []string
	var all []Experiment
	for i, s := range []Schedule{{Takes: 1}, {Takes: 9, Alone: true}, {Takes: 3}, {Takes: 2}} {
		all = append(all, Experiment{ID: fmt.Sprintf("L%d", i+1), Schedule: s})
	}
	results := RunAll(t.Context(), all, 1, func(e Experiment) Result {
		began = append(began, e.ID)
		return Result{Saved: Saved{Experiment: e}}
	})
	if got := strings.Join(began, " "); got != "L3 L4 L1 L2" {
		t.Errorf("they began in the order %s", got)
	}
	for i, r := range results {
		if r.Experiment.ID != all[i].ID {
			t.Errorf("result %d is of %s", i, r.Experiment.ID)
		}
	}
}
