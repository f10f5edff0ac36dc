package claims

import (
	"strings"
	"testing"
	"time"

	"locklab/history"
)

// numbered makes a history of events.
func numbered(events ...history.Event) []history.Event {
	for i := range events {
		events[i].Seq, events[i].At = i+1, time.Duration(i)*time.Millisecond
	}
	return events
}

func wrote(lane, owner string, value int64) history.Event {
	return history.Event{Timeline: lane, Owner: owner, Kind: history.Write, Key: "pview", Value: value}
}

func asked(lane, owner string) history.Event {
	return history.Event{Timeline: lane, Owner: owner, Kind: history.Request, Key: "pview"}
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
		{"every view is there", numbered(asked("a", "1"), asked("b", "2"), wrote("a", "1", 1), wrote("b", "2", 2), final(2)), "", 0},
		{"a value twice", numbered(asked("a", "1"), asked("b", "2"), wrote("a", "1", 1), wrote("b", "2", 1), final(1)), "both wrote 1", 4},
		{"one counts twice", numbered(asked("a", "1"), wrote("a", "1", 1), final(2)), "some count twice", 1},
		{"one without an answer may have counted", numbered(asked("a", "1"), wrote("a", "1", 1), failed, final(2)), "", 0},
		{"a refused one that counts is lost by another", numbered(wrote("a", "1", 1), wrote("b", "2", 3), final(1)), "1 are lost", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := lostViews(c.events)
			if (c.finds == "") != (len(found) == 0) {
				t.Fatalf("found %+v, want %q", found, c.finds)
			}
			if c.finds != "" && (!strings.Contains(found[0].What, c.finds) || len(found[0].Events) != c.shown) {
				t.Errorf("found %+v, want %q shown by %d events", found[0], c.finds, c.shown)
			}
		})
	}
}

// An explanation keeps to what can be drawn.
func TestExplainedStaysSmall(t *testing.T) {
	var events []history.Event
	for range 20 {
		events = append(events, asked("a", "1"))
	}
	events = numbered(append(events, wrote("a", "1", 1))...)
	found := explained(events, []history.Violation{{Events: []int{21}}})
	if len(found[0].Events) != 1 {
		t.Errorf("it is shown by %d events", len(found[0].Events))
	}
}

// waits makes a history of asks and grants: "a? b? a! b!".
func waits(text string) []history.Event {
	var events []history.Event
	for _, word := range strings.Fields(text) {
		kind := history.Request
		if word[1] == '!' {
			kind = history.Grant
		}
		events = append(events, history.Event{Timeline: word[:1], Kind: kind})
	}
	return numbered(events...)
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		name    string
		events  []history.Event
		jain    float64
		passed  int
		longest time.Duration
		breach  bool
	}{
		{"nobody asks", nil, 1, 0, 0, false},
		{"in turn", waits("a? b? a! a? b! b? a! b!"), 1, 1, 3 * time.Millisecond, false},
		{"one has everything", waits("a? b? a! a? a! a? a!"), 0.5, 3, 5 * time.Millisecond, true},
		{"three of four", waits("a? b? a! a? a! a? a! b!"), 0.8, 3, 6 * time.Millisecond, true},
		{"who leaves in the end has waited", waits("a? a! b? a? a!"), 0.5, 1, 2 * time.Millisecond, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sharesOf(c.events)
			if s.jain != c.jain || s.passed != c.passed || s.longest != c.longest {
				t.Errorf("index %v, passed %d, longest %s; want %v, %d, %s", s.jain, s.passed, s.longest, c.jain, c.passed, c.longest)
			}
			found := unfair(c.events)
			if len(found) > 0 != c.breach {
				t.Errorf("found %+v", found)
			}
			if c.breach && found[0].Events[0] != s.starved[0] {
				t.Errorf("shown by %v, not by %v", found[0].Events, s.starved)
			}
		})
	}
}

func TestNotBelow(t *testing.T) {
	number := func(lane string, value int64) history.Event {
		return history.Event{Timeline: lane, Kind: history.Measure, Value: value, Text: requestsUnit}
	}
	for _, c := range []struct {
		name   string
		events []history.Event
		breach bool
	}{
		{"fewer", numbered(number("message", 4), number("sleep", 9)), false},
		{"as many", numbered(number("message", 9), number("sleep", 9)), true},
		{"more", numbered(number("message", 10), number("sleep", 9)), true},
		{"one is missing", numbered(number("message", 10)), false},
		{"another unit", numbered(number("message", 10), history.Event{Timeline: "sleep", Kind: history.Measure, Value: 9, Text: waitUnit}), false},
	} {
		if found := notBelow(c.events, requestsUnit, "sleep"); len(found) > 0 != c.breach {
			t.Errorf("%s: found %+v", c.name, found)
		}
	}
}

func TestCallsOf(t *testing.T) {
	const info = "# Commandstats\r\ncmdstat_set:calls=12,usec=3,usec_per_call=0.25\r\ncmdstat_setnx:calls=5,usec=3\r\ncmdstat_eval:calls=7,usec=1\r\ncmdstat_script|load:calls=2,usec=1\r\n"
	if n := callsOf(info, []string{"set", "eval", "get"}); n != 19 {
		t.Errorf("%d calls, want 19", n)
	}
}
