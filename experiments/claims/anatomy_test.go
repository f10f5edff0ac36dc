package claims

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy"
)

// The experiments on commands alone need no redis-server.
func TestAnatomyOnMiniredis(t *testing.T) {
	for _, id := range []string{"L01", "L02", "L04", "L08", "L10", "L12"} {
		e, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		r := experiments.Run(t.Context(), e, experiments.Options{Trials: 1})
		if j := e.Judge(r); j.Verdict != experiments.AsExpected {
			t.Errorf("%s: %s: %s", e.ID, j.Verdict, j.Why)
		}
	}
}

// trialOf runs f as the only trial of an experiment, and returns what it recorded.
func trialOf(t *testing.T, f func(context.Context, *experiments.Trial) error) ([]history.Event, error) {
	t.Helper()
	r := experiments.Run(t.Context(), experiments.Experiment{Variants: []experiments.Variant{{Name: "it", Run: f}}}, experiments.Options{Trials: 1})
	if len(r.Variants) == 0 || len(r.Variants[0].Trials) == 0 {
		t.Fatal("no trial ran")
	}
	if text := r.Variants[0].Trials[0].Err; text != "" {
		return r.Events, errors.New(text)
	}
	return r.Events, nil
}

// What L08 does shows a lock that lets others in: here there is none.
func TestReentrantArmsSeeWhoGetsIn(t *testing.T) {
	for name, run := range map[string]func(context.Context, []*client, *resource) error{"once": enteredOnce, "twice": enteredTwice} {
		events, err := trialOf(t, func(ctx context.Context, t *experiments.Trial) error {
			r := newResource(t, false)
			defer r.final()
			return run(ctx, []*client{newClient(t, "A", lockstrategy.None{}), newClient(t, "B", lockstrategy.None{})}, r)
		})
		if err != nil || len(reentered(events)) == 0 {
			t.Errorf("entered %s without a lock: nothing is found, %v", name, err)
		}
	}
}

// An answer that is lost to a command that took nothing proves nothing.
func TestLostAnswerIsProvenByTheLock(t *testing.T) {
	for command, proven := range map[string]bool{"SET lock me": true, "SET other me": false} {
		events, err := trialOf(t, func(ctx context.Context, t *experiments.Trial) error {
			l, err := newLoser(ctx, t, "lock")
			if err != nil {
				return err
			}
			l.LoseAnswer()
			var words []any
			for _, w := range strings.Fields(command) {
				words = append(words, w)
			}
			if answer, err := l.Do(ctx, words...); err == nil {
				t.Note("test", "the answer came: "+answer.(string))
			}
			answer, err := l.Do(ctx, "GET", words[1]) // the next one is not lost, and the server has done the first
			if err == nil && answer != "me" {
				t.Note("test", "the server has not done it")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(events) != 1 || events[0].Kind != history.Fault || (events[0].Proof != "") != proven {
			t.Errorf("%s: %+v", command, events)
		}
	}
}

func TestFindingsNameWhatLedToThem(t *testing.T) {
	trial := []history.Event{
		{Seq: 1, Timeline: "A", Kind: history.Request},
		{Seq: 2, Timeline: "A", Kind: history.Command, Text: "SETNX → 1"},
		{Seq: 3, Timeline: "A", Kind: history.Grant},
		{Seq: 4, Timeline: "A", Kind: history.Die},
		{Seq: 5, Timeline: "B", Kind: history.Command, Text: "SETNX → 0"},
		{Seq: 6, Timeline: "B", Kind: history.Refuse},
		{Seq: 7, Timeline: "redis", Kind: history.Final},
		{Seq: 8, Timeline: "redis", Kind: history.Note, Text: steps.Orphan},
		{Seq: 9, Timeline: "B", Kind: history.Command},
	}
	found := orphaned(trial)
	if len(found) != 1 || !slices.Equal(found[0].Events, []int{2, 4, 5, 6, 8}) {
		t.Errorf("%+v", found)
	}
	if found := orphaned(trial[:7]); found != nil {
		t.Errorf("nothing was left, and %+v is found", found)
	}
	for _, c := range []struct {
		name   string
		breach func([]history.Event) []history.Violation
		text   string
		found  int
	}{
		{"L12, for ever", leftBehind, steps.Orphan, 1},
		{"L12, until the lease ends", leftBehind, steps.Behind, 1},
		{"L12, nothing", leftBehind, "something else", 0},
		{"L01, until the lease ends", orphaned, steps.Behind, 0},
		{"L08", reentered, acceptedRelease, 1},
		{"L08, nothing", reentered, steps.Orphan, 0},
	} {
		if found := c.breach([]history.Event{{Seq: 1, Kind: history.Note, Text: c.text}}); len(found) != c.found {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
}

// Only who is to come to the end of its lease has a short one.
func TestShortLeasesAreForWhoIsToLoseThem(t *testing.T) {
	moves := steps.Moves("A A B … B C")
	for name, want := range map[string]bool{"A": true, "B": true, "C": false} {
		if got := passes(moves, name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
