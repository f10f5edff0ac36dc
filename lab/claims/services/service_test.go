package services

import (
	"context"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/lab/trialtest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

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
		{
			"every view is there", trialtest.Numbered(requested("a", "1"), requested("b", "2"), wrote("a", "1", 1), wrote("b", "2", 2), final(2)),
			"", 0,
		},
		{
			"a value twice", trialtest.Numbered(requested("a", "1"), requested("b", "2"), wrote("a", "1", 1), wrote("b", "2", 1), final(1)),
			"both wrote 1", 2,
		},
		{"one counts twice", trialtest.Numbered(requested("a", "1"), wrote("a", "1", 1), final(2)), "some count twice", 1},
		{"one without an answer may have counted", trialtest.Numbered(requested("a", "1"), wrote("a", "1", 1), failed, final(2)), "", 0},
		{"a refused one that counts is lost by another", trialtest.Numbered(wrote("a", "1", 1), wrote("b", "2", 3), final(1)), "1 are lost", 3},
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

// On a slow machine the timeouts of instances are longer.
func TestInstancesFollowThePace(t *testing.T) {
	trialtest.Paced(t, 2, func(_ context.Context, trial *lab.Trial) {
		s := Service{Version: "v7", Flags: []string{"--nodes=3"}}.service(trial)
		flags := strings.Join(s.Flags, " ")
		const want = "--wait=1m0s --request=4s --node-timeout=1s --start-timeout=10s --nodes=3"
		if flags != want || s.Lease != 20*time.Second || s.Think != 2*Think {
			t.Errorf("%+v", s)
		}
	})
}

// Events of a burst count from its beginning, and the history from the run's.
func TestRecordBurst(t *testing.T) {
	var before, after time.Duration
	var moved []history.Event
	lab.Run(t.Context(), lab.Experiment{Variants: []lab.Variant{{Run: func(_ context.Context, t *lab.Trial) {
		before = t.Now()
		began := time.Now()
		after = t.Now()
		RecordBurst(t, began, []history.Event{{At: 0}, {At: time.Second}})
		moved = t.Events()
	}}}}, lab.Options{Trials: 1})
	if len(moved) != 2 || moved[1].At-moved[0].At != time.Second {
		t.Fatalf("moved to %v", moved)
	}
	if at := moved[0].At; at < before || at > after {
		t.Errorf("the beginning is at %s, and was between %s and %s", at, before, after)
	}
}
