package kit

import (
	"context"
	"strings"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// numbered makes a history of events.
func numbered(events ...history.Event) []history.Event {
	for i := range events {
		events[i].Seq, events[i].At = i+1, time.Duration(i)*time.Millisecond
	}
	return events
}

func wrote(timeline, owner string, value int64) history.Event {
	return history.Event{Timeline: timeline, Owner: owner, Kind: history.Write, Key: "pview", Value: value}
}

func requested(timeline, owner string) history.Event {
	return history.Event{Timeline: timeline, Owner: owner, Kind: history.Request, Key: "pview"}
}

func TestLostViews(t *testing.T) {
	final := func(value int64) history.Event { return history.Event{Kind: history.Final, Key: "pview", Value: value} }
	failed := history.Event{Timeline: "balancer", Owner: "3", Kind: history.Note, Text: "no answer"}
	for _, c := range []struct {
		name   string
		events []history.Event
		finds  string
		shown  int // events of the first finding
	}{
		{"every view is there", numbered(requested("a", "1"), requested("b", "2"), wrote("a", "1", 1), wrote("b", "2", 2), final(2)), "", 0},
		{
			"a value twice", numbered(requested("a", "1"), requested("b", "2"), wrote("a", "1", 1), wrote("b", "2", 1), final(1)),
			"both wrote 1", 2,
		},
		{"one counts twice", numbered(requested("a", "1"), wrote("a", "1", 1), final(2)), "some count twice", 1},
		{"one without an answer may have counted", numbered(requested("a", "1"), wrote("a", "1", 1), failed, final(2)), "", 0},
		{"a refused one that counts is lost by another", numbered(wrote("a", "1", 1), wrote("b", "2", 3), final(1)), "1 are lost", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := LostViews(c.events)
			if (c.finds == "") != (len(found) == 0) {
				t.Fatalf("found %+v, want %q", found, c.finds)
			}
			if c.finds != "" && (!strings.Contains(found[0].What, c.finds) || len(found[0].Events) != c.shown) {
				t.Errorf("found %+v, want %q shown by %d events", found[0], c.finds, c.shown)
			}
		})
	}
}

// Only a client that is to come to the end of its lease has a short one.
func TestShortLeasesAreForClientsThatLoseThem(t *testing.T) {
	moves := steps.Moves("A A B … B C")
	for name, want := range map[string]bool{"A": true, "B": true, "C": false} {
		if got := expires(moves, name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Events of a burst count from its beginning, and the history from the run's.
func TestRecordBurst(t *testing.T) {
	var before, after time.Duration
	var moved []history.Event
	experiments.Run(t.Context(), experiments.Experiment{Variants: []experiments.Variant{{Run: func(_ context.Context, t *experiments.Trial) {
		before = t.Now()
		began := time.Now()
		after = t.Now()
		recordBurst(t, began, []history.Event{{At: 0}, {At: time.Second}})
		moved = t.Events()
	}}}}, experiments.Options{Trials: 1})
	if len(moved) != 2 || moved[1].At-moved[0].At != time.Second {
		t.Fatalf("moved to %v", moved)
	}
	// The two clocks are read one after the other.
	if at := moved[0].At; at < before-time.Millisecond || at > after+time.Second {
		t.Errorf("the beginning is at %s, and was between %s and %s", at, before, after)
	}
}
