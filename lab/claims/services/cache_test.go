package services

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
)

// script makes a history of a cache from words. "w2" is a write that the database confirmed, and after "!" the cache must know it. At "a?"
// a read by a begins, at "a1" it answers with version 1, and at "a-" it gets no answer. "s" is a load, "R" that of an
// actor, and at "t" time passes.
func script(text string) []history.Event {
	var events []history.Event
	for i, word := range strings.Fields(text) {
		e := history.Event{Seq: i + 1, At: time.Duration(i) * time.Millisecond, Timeline: word[:1], Owner: word[:1], Key: "item 7"}
		switch {
		case word == "s":
			e.Timeline, e.Kind, e.Name = "database", history.Command, history.Load
		case word == "R":
			e.Kind, e.Name = history.Command, history.Load
		case word == "t":
			e.Kind, e.Name = history.Note, history.TimePasses
		case word == "!":
			e.Kind = history.Note
			e = mustFollow.On(e)
		case word[0] == 'w':
			e.Kind = history.Write
		case word[1] == '?':
			e.Kind = history.Request
		case word[1] == '-':
			e.Kind = history.Refuse
		default:
			e.Kind = history.Read
		}
		if len(word) > 1 {
			_, _ = fmt.Sscan(word[1:], &e.Value)
		}
		events = append(events, e)
	}
	return events
}

func TestChecksOfCaches(t *testing.T) {
	measured := func(trial []history.Event) []history.Violation { return oldReads(trial, true) }
	for _, c := range []struct {
		name, script string
		check        func([]history.Event) []history.Violation
		found        []int // the events of the first violation
	}{
		{"fresh", "w1 a? a1 w2 ! a? a2", StaleReads, nil},
		{"old before the cache must know", "w1 w2 a? a1", StaleReads, nil},
		{"old after", "w1 w2 ! a? a1", StaleReads, []int{2, 5}},
		{"the read began before", "w1 w2 a? ! a1", StaleReads, nil},
		{"old, and measured, before the cache must know", "w1 w2 a? a1", measured, []int{2, 4}},
		{"the read began before the write", "w1 a? w2 a1 b? b2", measured, nil},
		{"absent after the insert", "w1 ! a? a0", StaleReads, []int{1, 4}},
		{"newer than it must be", "w1 ! w2 a? a2", StaleReads, nil},
		{"a first writer that settles last", "w2 w3 ! ! a? a2", StaleReads, []int{2, 6}},
		{"as many loads as it bears", "s s t s s", LoadsOver(2), nil},
		{"too many", "s t s s s t s", LoadsOver(2), []int{3, 4, 5}},
		{"too many at the end", "t s s s", LoadsOver(2), []int{2, 3, 4}},
	} {
		found := c.check(script(c.script))
		if len(found) == 0 && c.found == nil {
			continue
		}
		if len(found) != 1 || !slices.Equal(found[0].Events, c.found) {
			t.Errorf("%s: found %+v, want %v", c.name, found, c.found)
		}
	}
}

// The time until answers are true begins with the last confirmed write, or with the first request if none came before that write.
func TestTruthAfter(t *testing.T) {
	for _, c := range []struct {
		name, script string
		took         time.Duration // events are a millisecond apart
		all          bool
	}{
		{"an absent item", "a? s a0 a? a0", 2, true},
		{"written before the first request", "w1 t t a? s a1", 2, true},
		{"old answers do not count", "w1 a? a1 w2 a? a1 b? b1 a? a2", 6, true},
		{"the first true answer counts", "a? a0 w1 a? a1 a? a1", 2, true},
		{"the last write counts", "a? a0 w1 t t t a? a1 w2 a? a2", 2, true},
		{"never a true answer", "w1 a? a1 w2 ! a? a1", 0, false},
		{"no answer", "a? a-", 0, false},
		{"an old answer follows, as of another process", "a? a0 w1 b? b1 a? a0", 0, false},
		{"true after an old answer of another process", "a? a0 w1 b? b1 a? a0 a? a1", 6, true},
		{"nobody asks", "w1 s", 0, false},
		{"a write that was not recorded", "a? a1", 1, true},
	} {
		took, all := truthAfter(script(c.script))
		if all != c.all || all && took != c.took*time.Millisecond {
			t.Errorf("%s: %s, %v", c.name, took, all)
		}
	}
	two := slices.Concat(script("w1 a? a1"), script("a? s s a0"))
	for i := range two[3:] {
		two[3+i].Key = "item 8"
	}
	if took, all := truthAfter(two); took != 3*time.Millisecond || !all {
		t.Errorf("of two items the longest: %s, %v", took, all)
	}
	if _, all := truthAfter(two[:4]); all {
		t.Error("one of two items got no answer, and there is a time")
	}
}

// The measures are those of the trial's events, and change no verdict of the checks.
func TestCachesAreMeasured(t *testing.T) {
	var before []history.Event
	r := lab.Run(t.Context(), lab.Experiment{Variants: []lab.Variant{{Name: "caches", Trials: 1, Run: func(
		_ context.Context, trial *lab.Trial,
	) {
		for _, e := range script("w1 a? s a1 t s R w2 c? c1 ! a? a1 b? b2") {
			trial.Record(e)
		}
		before = trial.Events()
		(&Cache{Redis: &clients.Redis{Trial: trial}}).MeasureCache()
	}}}}, lab.Options{}).Record
	var got []string
	for _, m := range r.Measures() {
		got = append(got, fmt.Sprint(m.Median(), " ", m.Label()))
	}
	want := []string{"2 loads at one moment, at most", "3 loads that reached the database", "2 stale reads"}
	if len(got) != 4 || !slices.Equal(got[:3], want) || !strings.HasSuffix(got[3], " ms until answers are true") {
		t.Errorf("%q, want %q, and a time", got, want)
	}
	for _, check := range []func([]history.Event) []history.Violation{LoadsOver(1), StaleReads} {
		if all, without := check(r.Events), check(before); !reflect.DeepEqual(all, without) {
			t.Errorf("%+v with measures, %+v without", all, without)
		}
	}
}
