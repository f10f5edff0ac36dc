package experiments

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/history"
)

// A claim that is not ready for what was recorded loses no run: it is saved, and inconclusive.
func TestRunAndSaveSavesWhatCannotBeJudged(t *testing.T) {
	note := func(_ context.Context, t *Trial) { t.Note("A", "it was here") }
	e := Experiment{
		ID: "X01-fragile", Variants: []Variant{{Name: "control", Run: note}, {Name: "subject", Run: note}},
		Check: func([]history.Event) []history.Violation { panic("no such event") },
	}
	run := e.RunAndSave(t.Context(), t.TempDir(), Options{Trials: 1})
	if j := run.Judgement; j.Verdict != Inconclusive || !strings.Contains(j.Why, "makes no sense: no such event") || run.NotSaved != "" {
		t.Errorf("%+v", run)
	}
	if record, err := Load(run.Dir); err != nil || record.Count != 2 {
		t.Errorf("saved: %v, %+v", err, record)
	}
}

// The error names a missing program and the command that installs it, before anything runs. A group can leave it out.
func TestSelectionNamesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	needy := Experiment{ID: "F98-needy", Schedule: Schedule{Needs: []Need{RedisServer, "another"}}}
	other := Experiment{ID: "F99-other", Schedule: Schedule{Needs: []Need{RedisServer}}}
	modest := Experiment{ID: "L98-modest"}
	err := new(Selection).Missing([]Experiment{needy, other, modest}, false)
	for _, says := range []string{
		"F98-needy, F99-other need redis-server", "apt-get install redis-server", "F98-needy needs another",
		"--embedded runs the 1 that need none",
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("it does not say %q: %v", says, err)
		}
	}
	if err := new(Selection).Missing([]Experiment{modest}, false); err != nil {
		t.Error(err)
	}
	kept, left, err := (&Selection{All: true}).Embedded([]Experiment{needy, modest})
	if err != nil || len(kept) != 1 || len(left) != 1 || left[0] != needy.ID {
		t.Errorf("kept %v, left %v, %v", kept, left, err)
	}
	if _, _, err := (&Selection{IDs: []string{"F98"}}).Embedded([]Experiment{needy, modest}); err == nil {
		t.Error("an experiment that was named was left out")
	}
}

// A group keeps only the experiments that can run. A named experiment runs, or the error says what it needs.
func TestSelectionLeavesOutWhatThisMachineCannotRun(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	needy := Experiment{ID: "D98-needy", Schedule: Schedule{Needs: []Need{RedisServer, MariaDB}}}
	other := Experiment{ID: "F99-other", Schedule: Schedule{Needs: []Need{RedisServer}}}
	kept, missing := Selection{All: true}.Here([]Experiment{needy, other})
	if len(kept) != 1 || kept[0].ID != other.ID || len(missing) != 1 ||
		missing[0] != "D98-needy needs mariadbd, which is not on the PATH: apt-get install mariadb-server (or brew install mariadb)" {
		t.Errorf("kept %v, missing %q", kept, missing)
	}
	if kept, missing := (Selection{IDs: []string{"D98"}}).Here([]Experiment{needy}); len(kept) != 1 || len(missing) != 0 {
		t.Errorf("named: kept %v, missing %q", kept, missing)
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
	} {
		run := Result{Saved: Saved{Experiment: e, Record: Record{
			Containers: c.where.Docker != "",
			Variants:   []VariantRecord{{Trials: make([]TrialRecord, c.trials)}, {Trials: make([]TrialRecord, c.trials)}},
		}}}
		if got := run.Usual(); got != c.usual {
			t.Errorf("%d trials, %s: %s, want %s", c.trials, c.where.Engine(), got, c.usual)
		}
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
