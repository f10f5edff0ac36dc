package faults

import (
	"testing"
	"time"

	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/lab/trialtest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// F05: a client alone must not wait for a node that hangs, and must be refused in time.
func TestSlow(t *testing.T) {
	event := func(kind history.Kind, owner string, at time.Duration) history.Event {
		return history.Event{Timeline: owner[:1], Owner: owner, Kind: kind, At: at}
	}
	const long, short = 500 * time.Millisecond, 499 * time.Millisecond
	timeout := nodeTimeout.Event("lab", long.Milliseconds())
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
			event(history.Request, "A1", 0), event(history.Request, "B1", 0), event(history.Refuse, "A1", 3*long),
		}, 1},
	} {
		for i := range c.events {
			c.events[i].Seq = i + 1
		}
		if found := slow(append(c.events, timeout)); len(found) != c.found {
			t.Errorf("%s: found %+v", c.name, found)
		}
	}
}

// F14: an answer after the bound is found, and a release may take longer. Without a bound nothing is.
func TestTooLate(t *testing.T) {
	const bound = 500 * time.Millisecond
	event := func(kind history.Kind, at time.Duration) history.Event {
		return history.Event{Timeline: "A", Owner: "a1", Kind: kind, At: at}
	}
	request, set := event(history.Request, 0), answerBound.Event("lab", bound.Milliseconds())
	for _, c := range []struct {
		name   string
		events []history.Event
		found  int
	}{
		{"granted in time", []history.Event{set, request, event(history.Grant, bound)}, 0},
		{"granted too late", []history.Event{set, request, event(history.Grant, 2*bound)}, 1},
		{"refused too late", []history.Event{set, request, event(history.Refuse, 2*bound)}, 1},
		{"released late", []history.Event{
			set, request, event(history.Grant, 0), event(history.Release, 0), event(history.Released, 2*bound),
		}, 0},
		{"no bound", []history.Event{request, event(history.Grant, 2*bound)}, 0},
	} {
		if found := tooLate(c.events); len(found) != c.found {
			t.Errorf("%s: found %+v", c.name, found)
		}
	}
}

// Nodes that hang cost a client alone no timeout. An answer may be late for another reason only while this process is stalled: then the
// trial is repeated, twice at most.
func TestNodesThatHangAreNotWaitedFor(t *testing.T) {
	const stalled = 100 * time.Millisecond
	stalls := testenv.WatchStalls(t)
	for again := 0; ; again++ {
		events, err := trialtest.Of(t, hanging(2, false))
		late := stalls.Longest()
		found := slow(events)
		if err == nil && len(found) == 0 {
			return
		}
		if again == 2 || late < stalled {
			t.Errorf("found %+v, %v", found, err)
			return
		}
		t.Logf("this process was stalled for %s; once more: %+v, %v", late, found, err)
	}
}

// A trial in which a holder learns of its loss after the next grant shows nothing, unless the lab's own timer was late as well.
func TestLearnedInTime(t *testing.T) {
	for _, c := range []struct {
		name       string
		lose, ours time.Duration // after the grant; of our timer
		shows      bool
	}{
		{"before", -time.Millisecond, 0, true},
		{"after", time.Millisecond, 0, false},
		{"after, as any timer", time.Millisecond, time.Millisecond, true},
		{"later than any timer", 2 * time.Millisecond, time.Millisecond, false},
	} {
		grant := history.Event{Seq: 1, At: time.Second, Timeline: "B", Kind: history.Grant}
		lose := history.Event{Seq: 2, At: time.Second + c.lose, Timeline: "A", Kind: history.Lose}
		events := []history.Event{grant, lose, timerLate.Event("lab", c.ours.Microseconds())}
		if c.lose < 0 {
			events[0].Seq, events[1].Seq = 2, 1
		}
		if err := learnedInTime(events); (err == nil) != c.shows {
			t.Errorf("%s: it shows something: %v, %v", c.name, c.shows, err)
		}
	}
}
