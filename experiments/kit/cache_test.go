package kit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"locklab/history"
)

// script makes a history of a cache from words. "w2" is a write that the database confirmed, and after "!" the cache must know it. At "a?"
// a read by a begins, at "a1" it answers with version 1, and at "a-" it gets no answer. "s" is a load, and at "t" time passes.
func script(text string) []history.Event {
	var events []history.Event
	for i, word := range strings.Fields(text) {
		e := history.Event{Seq: i + 1, Timeline: word[:1], Owner: word[:1], Key: "item 7"}
		switch {
		case word == "s":
			e.Timeline, e.Kind, e.Text = "database", history.Command, loadText
		case word == "t":
			e.Kind, e.Text = history.Note, timePasses+"1s"
		case word == "!":
			e.Kind, e.Text = history.Note, mustFollow
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
	for _, c := range []struct {
		name, script string
		check        func([]history.Event) []history.Violation
		found        []int // the events of the first violation
	}{
		{"fresh", "w1 a? a1 w2 ! a? a2", StaleReads, nil},
		{"old before the cache must know", "w1 w2 a? a1", StaleReads, nil},
		{"old after", "w1 w2 ! a? a1", StaleReads, []int{2, 5}},
		{"the read began before", "w1 w2 a? ! a1", StaleReads, nil},
		{"absent after the insert", "w1 ! a? a0", StaleReads, []int{1, 4}},
		{"newer than it must be", "w1 ! w2 a? a2", StaleReads, nil},
		{"a first writer that settles last", "w2 w3 ! ! a? a2", StaleReads, []int{2, 6}},
		{"as many loads as it bears", "s s t s s", LoadsOver(2), nil},
		{"too many", "s t s s s t s", LoadsOver(2), []int{3, 4, 5}},
		{"too many at the end", "t s s s", LoadsOver(2), []int{2, 3, 4}},
		{"all are answered", "w1 a? a1", NoAnswers, nil},
		{"one is not", "w1 a? a- b? b1", NoAnswers, []int{3}},
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

// Every interleaving of three and two steps is there, once.
func TestInterleavings(t *testing.T) {
	all := Interleavings("R", 3, "W", 2)
	slices.Sort(all)
	if got := len(slices.Compact(slices.Clone(all))); got != 10 || len(all) != 10 {
		t.Errorf("%d different ones of %d, want 10", got, len(all))
	}
	if !slices.Contains(all, "R R W W R") {
		t.Errorf("%q", all)
	}
}
