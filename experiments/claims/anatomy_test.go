package claims

import (
	"context"
	"errors"
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy"
)

// The experiments on commands alone need no redis-server.
func TestAnatomyOnMiniredis(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"L01", "L02", "L04", "L08", "L10", "L12", "L21"} {
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

// trialOf runs a scenario as the only trial of an experiment, and returns what it recorded.
func trialOf(t *testing.T, scenario experiments.Scenario) ([]history.Event, error) {
	t.Helper()
	e := experiments.Experiment{Variants: []experiments.Variant{{Name: "it", Run: scenario}}}
	r := experiments.Run(t.Context(), e, experiments.Options{Trials: 1})
	if len(r.Variants) == 0 || len(r.Variants[0].Trials) == 0 {
		t.Fatal("no trial ran")
	}
	if text := r.Variants[0].Trials[0].Err; text != "" {
		return r.Events, errors.New(text)
	}
	return r.Events, nil
}

// L08 finds a lock that lets others in: here there is no lock.
func TestReentrantVariantsFindClientsThatGetIn(t *testing.T) {
	for name, run := range map[string]func(context.Context, reentrants){"once": enteredOnce, "twice": enteredTwice} {
		events, err := trialOf(t, func(ctx context.Context, t *experiments.Trial) {
			none := func(name string) *kit.Client { return kit.NewClient(t, name, lockstrategy.None{}) }
			run(ctx, reentrants{Trial: t, a: none("A"), b: none("B"), resource: kit.NewResource(t, false)})
		})
		if err != nil || len(reentered(events)) == 0 {
			t.Errorf("entered %s without a lock: nothing is found, %v", name, err)
		}
	}
}

// A lost reply to a command that took no lock proves nothing.
func TestLostReplyIsProvenByTheLock(t *testing.T) {
	for command, proven := range map[string]bool{"SET lock me": true, "SET other me": false} {
		events, err := trialOf(t, func(ctx context.Context, t *experiments.Trial) {
			w := newLossyWire(ctx, t, "lock")
			w.LoseReply()
			var words []any
			for _, word := range strings.Fields(command) {
				words = append(words, word)
			}
			if reply, err := w.Do(ctx, words...); err == nil {
				t.Note("test", "the reply came: "+reply.(string))
			}
			reply, err := w.Do(ctx, "GET", words[1]) // the next one is not lost, and the server has executed the first
			t.Must(err)
			if reply != "me" {
				t.Note("test", "the server has not executed it")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(events) != 1 || events[0].Kind != history.Fault || (events[0].Proof != "") != proven {
			t.Errorf("%s: %+v", command, events)
		}
	}
}

// Each check finds the text that its experiment records, and no other.
func TestChecksFindTheirTexts(t *testing.T) {
	for _, c := range []struct {
		name  string
		check func([]history.Event) []history.Violation
		text  string
		found int
	}{
		{"L12, for ever", leftBehind, string(steps.OrphanedLock), 1},
		{"L12, until the lease ends", leftBehind, string(steps.LeftUntilExpiry), 1},
		{"L12, nothing", leftBehind, "something else", 0},
		{"L01, for ever", kit.Noted(string(steps.OrphanedLock)), string(steps.OrphanedLock), 1},
		{"L01, until the lease ends", kit.Noted(string(steps.OrphanedLock)), string(steps.LeftUntilExpiry), 0},
		{"L08", reentered, acceptedRelease, 1},
		{"L08, nothing", reentered, string(steps.OrphanedLock), 0},
	} {
		if found := c.check([]history.Event{{Seq: 1, Kind: history.Note, Text: c.text}}); len(found) != c.found {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
}
