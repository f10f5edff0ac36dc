package claims

import (
	"context"
	"strings"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/history"
)

// onInstances reports whether an experiment needs the app: cmd/app runs those.
func onInstances(e experiments.Experiment) bool { return strings.Contains("PG", e.ID[:1]) }

func TestWithoutTheAppNothingIsShown(t *testing.T) {
	for _, e := range All() {
		if !onInstances(e) {
			continue
		}
		r := experiments.Run(t.Context(), e, experiments.Options{Trials: 1})
		if j := e.Judge(r); j.Verdict != experiments.Inconclusive || !strings.Contains(j.Why, errNoApp.Error()) {
			t.Errorf("%s: %s: %s", e.ID, j.Verdict, j.Why)
		}
	}
}

// Events of a burst count from its beginning, and the history from the run's.
func TestLater(t *testing.T) {
	var before, after time.Duration
	var moved []history.Event
	e := experiments.Experiment{Variants: []experiments.Variant{{Name: "arm", Run: nil}}}
	e.Variants[0].Run = func(_ context.Context, t *experiments.Trial) error {
		before = t.Now()
		began := time.Now()
		after = t.Now()
		moved = later(t, began, []history.Event{{At: 0}, {At: time.Second}})
		return nil
	}
	experiments.Run(t.Context(), e, experiments.Options{Trials: 1})
	if len(moved) != 2 || moved[1].At-moved[0].At != time.Second {
		t.Fatalf("moved to %v", moved)
	}
	// The two clocks are read one after the other.
	if at := moved[0].At; at < before-time.Millisecond || at > after+time.Second {
		t.Errorf("the beginning is at %s, and was between %s and %s", at, before, after)
	}
}
