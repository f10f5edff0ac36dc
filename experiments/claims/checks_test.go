package claims

import (
	"strings"
	"testing"
	"time"

	"locklab/experiments/kit"
	"locklab/history"
)

// numbered makes a history of events.
func numbered(events ...history.Event) []history.Event {
	for i := range events {
		events[i].Seq, events[i].At = i+1, time.Duration(i)*time.Millisecond
	}
	return events
}

// waits makes a history of requests and grants: "a? b? a! b!".
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
		unfair  bool
	}{
		{"no request", nil, 1, 0, 0, false},
		{"one after the other", waits("a? b? a! a? b! b? a! b!"), 1, 1, 3 * time.Millisecond, false},
		{"one has everything", waits("a? b? a! a? a! a? a!"), 0.5, 3, 5 * time.Millisecond, true},
		{"three of four", waits("a? b? a! a? a! a? a! b!"), 0.8, 3, 6 * time.Millisecond, true},
		{"a client that leaves in the end has waited", waits("a? a! b? a? a!"), 0.5, 1, 2 * time.Millisecond, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sharesOf(c.events)
			if s.jain != c.jain || s.passed != c.passed || s.longest != c.longest {
				t.Errorf("index %v, passed %d, longest %s; want %v, %d, %s", s.jain, s.passed, s.longest, c.jain, c.passed, c.longest)
			}
			found := unfair(c.events)
			if len(found) > 0 != c.unfair {
				t.Errorf("found %+v", found)
			}
			if c.unfair && found[0].Events[0] != s.starved[0] {
				t.Errorf("shown by %v, not by %v", found[0].Events, s.starved)
			}
		})
	}
}

func TestNotBelow(t *testing.T) {
	number := func(timeline string, value int64) history.Event {
		return history.Event{Timeline: timeline, Kind: history.Measure, Value: value, Text: requestsUnit}
	}
	for _, c := range []struct {
		name   string
		events []history.Event
		found  bool
	}{
		{"fewer", numbered(number("message", 4), number("sleep", 9)), false},
		{"as many", numbered(number("message", 9), number("sleep", 9)), true},
		{"more", numbered(number("message", 10), number("sleep", 9)), true},
		{"one is missing", numbered(number("message", 10)), false},
		{
			"another unit", numbered(number("message", 10), history.Event{Timeline: "sleep", Kind: history.Measure, Value: 9, Text: waitUnit}),
			false,
		},
	} {
		if found := notBelow(c.events, requestsUnit, "sleep"); len(found) > 0 != c.found {
			t.Errorf("%s: found %+v", c.name, found)
		}
	}
}

// F05: a client alone must not wait for a node that hangs, and must be refused in time.
func TestSlow(t *testing.T) {
	event := func(kind history.Kind, owner string, at time.Duration) history.Event {
		return history.Event{Timeline: owner[:1], Owner: owner, Kind: kind, At: at}
	}
	const short, long = nodeTimeout - 1, nodeTimeout
	for _, c := range []struct {
		name   string
		events []history.Event
		found  int
	}{
		{"granted in time", []history.Event{event(history.Request, "A1", 0), event(history.Grant, "A1", short)}, 0},
		{"granted after a timeout", []history.Event{event(history.Request, "A1", 0), event(history.Grant, "A1", long)}, 1},
		{"released after a timeout", []history.Event{
			event(history.Request, "A1", 0), event(history.Grant, "A1", 0), event(history.Release, "A1", 0), event(history.Released, "A1", long),
		}, 1},
		{"two compete", []history.Event{
			event(history.Request, "A1", 0), event(history.Request, "B1", 0), event(history.Grant, "A1", long), event(history.Grant, "B1", long),
		}, 0},
		{"the other one was refused before", []history.Event{
			event(history.Request, "B1", 0), event(history.Refuse, "B1", 0), event(history.Request, "A1", 0), event(history.Grant, "A1", long),
		}, 1},
		{"refused in time", []history.Event{event(history.Request, "A1", 0), event(history.Refuse, "A1", long)}, 0},
		{"refused too late, beside another", []history.Event{
			event(history.Request, "A1", 0), event(history.Request, "B1", 0), event(history.Refuse, "A1", toldWithin),
		}, 1},
	} {
		for i := range c.events {
			c.events[i].Seq = i + 1
		}
		if found := slow(c.events); len(found) != c.found {
			t.Errorf("%s: found %+v", c.name, found)
		}
	}
}

// L23: the contender must not be granted the lock before its holder has ended, nor be refused to the end of its wait.
func TestWrongAfterDeath(t *testing.T) {
	event := func(timeline string, kind history.Kind, text string) history.Event {
		return history.Event{Timeline: timeline, Kind: kind, Text: text}
	}
	refused, dead := event("B", history.Refuse, history.Taken), event("A", history.Die, "")
	granted, late := event("B", history.Grant, ""), event("B", history.Refuse, history.Deadline)
	for name, c := range map[string]struct {
		events []history.Event
		found  int
	}{
		"granted after the kill":    {numbered(refused, dead, granted), 0},
		"granted after the release": {numbered(refused, event("A", history.Release, ""), granted), 0},
		"granted before the kill":   {numbered(granted, dead), 1},
		"granted without a kill":    {numbered(granted), 1},
		"never granted":             {numbered(refused, dead, late), 1},
		"the holder's own grant":    {numbered(event("A", history.Grant, ""), refused, dead, granted), 0},
	} {
		if found := wrongAfterDeath(c.events); len(found) != c.found {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// Nodes that hang cost a client alone no timeout.
func TestNodesThatHangAreNotWaitedFor(t *testing.T) {
	events, err := trialOf(t, hanging(2, false))
	if found := slow(events); err != nil || len(found) > 0 {
		t.Errorf("found %+v, %v", found, err)
	}
}

// L21: a client is refused wrongly when the holder of its key wants another booking.
func TestRefusedByAnotherBooking(t *testing.T) {
	event := func(timeline string, kind history.Kind, key string) history.Event {
		return history.Event{Timeline: timeline, Kind: kind, Key: key}
	}
	wants := func(timeline, booking string) history.Event { return event(timeline, history.Note, booking) }
	granted, released, refused := event("A", history.Grant, "k"), event("A", history.Release, "k"), event("B", history.Refuse, "k")
	for name, c := range map[string]struct {
		events []history.Event
		found  int
	}{
		"another booking":              {numbered(wants("A", "x"), wants("B", "y"), granted, refused), 1},
		"another remark comes later":   {numbered(wants("A", "x"), wants("B", "y"), wants("B", ""), granted, refused), 1},
		"the same booking":             {numbered(wants("A", "x"), wants("B", "x"), granted, refused), 0},
		"another booking, other keys":  {numbered(wants("A", "x"), wants("B", "y"), granted, event("B", history.Refuse, "l")), 0},
		"refused after A has released": {numbered(wants("A", "x"), wants("B", "y"), granted, released, refused), 0},
	} {
		if found := refusedByAnotherBooking(c.events); len(found) != c.found {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// L09: a sleep must be worse than the message in one of the numbers at least.
func TestBetterInBoth(t *testing.T) {
	number := func(timeline string, requests, wait int64) []history.Event {
		return []history.Event{
			{Timeline: timeline, Kind: history.Measure, Value: requests, Text: requestsUnit},
			{Timeline: timeline, Kind: history.Measure, Value: wait, Text: waitUnit},
		}
	}
	message := number("message", 45, 700)
	for name, c := range map[string]struct {
		sleep []history.Event
		found int
	}{
		"worse in both":        {number("sleep 5 ms", 300, 3000), 0},
		"fewer requests":       {number("sleep 100 ms", 44, 40_000), 0},
		"a shorter wait":       {number("sleep 1 ms", 1000, 600), 0},
		"better in both":       {number("sleep 1 ms", 44, 699), 1},
		"the same in both":     {number("sleep 1 ms", 45, 700), 1},
		"one is not measured":  {number("sleep 1 ms", 44, 699)[:1], 0},
		"a number of requests": {number("sleep 1 ms", 44, 699)[1:], 0},
	} {
		if found := betterInBoth(numbered(append(c.sleep, message...)...)); len(found) != c.found {
			t.Errorf("%s: found %+v", name, found)
		}
	}
	if found := betterInBoth(numbered(number("sleep 1 ms", 44, 699)...)); len(found) > 0 {
		t.Errorf("without a message: found %+v", found)
	}
}

// C6: a part that is killed between its two steps loses a change only if the steps are exchanged.
func TestKilledFeed(t *testing.T) {
	for _, c := range []struct {
		task  feedTask
		stale int
	}{
		{feedTask{consumer: kit.Consume}, 0},
		{feedTask{consumer: kit.AcknowledgeFirst}, 1},
		{feedTask{relay: kit.Relay}, 0},
		{feedTask{relay: kit.SavePositionFirst}, 1},
	} {
		events, err := trialOf(t, byOutbox(c.task))
		if found := kit.StaleReads(events); err != nil || len(found) != c.stale {
			t.Errorf("%+v: found %+v, %v", c.task, found, err)
		}
	}
}
