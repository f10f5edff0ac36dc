package anatomy

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lab/testenv"
	"locklab/lab/testenv/script"
	"locklab/lab/trialtest"
	"locklab/lockstrategy"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// L08 finds a lock that lets others in: here there is no lock.
func TestReentrantVariantsFindClientsThatGetIn(t *testing.T) {
	for name, run := range map[string]func(context.Context, reentrants){"once": enteredOnce, "twice": enteredTwice} {
		events, err := trialtest.Of(t, func(ctx context.Context, t *lab.Trial) {
			none := func(name string) *clients.Client { return clients.NewClient(t, name, lockstrategy.None{}) }
			run(ctx, reentrants{Trial: t, a: none("A"), b: none("B"), resource: clients.NewResource(t, false)})
		})
		if err != nil || len(reentered(events)) == 0 {
			t.Errorf("entered %s without a lock: nothing is found, %v", name, err)
		}
	}
}

// A lost reply to a command that took no lock proves nothing.
func TestLostReplyIsProvenByTheLock(t *testing.T) {
	for command, proven := range map[string]bool{"SET lock me": true, "SET other me": false} {
		events, err := trialtest.Of(t, func(ctx context.Context, t *lab.Trial) {
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

// Each check finds the mark that its experiment records, and no other.
func TestChecksFindTheirMarks(t *testing.T) {
	for _, c := range []struct {
		name  string
		check func([]history.Event) []history.Violation
		mark  history.Mark
		found int
	}{
		{"L12, for ever", leftBehind, explore.OrphanedLock.Mark(), 1},
		{"L12, until the lease ends", leftBehind, explore.LeftUntilExpiry.Mark(), 1},
		{"L12, nothing", leftBehind, history.Mark{Name: "something else"}, 0},
		{"L01, for ever", clients.Noted(explore.OrphanedLock.Mark()), explore.OrphanedLock.Mark(), 1},
		{"L01, until the lease ends", clients.Noted(explore.OrphanedLock.Mark()), explore.LeftUntilExpiry.Mark(), 0},
		{"L08", reentered, acceptedRelease, 1},
		{"L08, nothing", reentered, explore.OrphanedLock.Mark(), 0},
	} {
		if found := c.check([]history.Event{c.mark.On(history.Event{Seq: 1, Kind: history.Note})}); len(found) != c.found {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
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
	return trialtest.Numbered(events...)
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
		return commandsPerWait.Event(timeline, value)
	}
	for _, c := range []struct {
		name   string
		events []history.Event
		found  bool
	}{
		{"fewer", trialtest.Numbered(number("message", 4), number("sleep", 9)), false},
		{"as many", trialtest.Numbered(number("message", 9), number("sleep", 9)), true},
		{"more", trialtest.Numbered(number("message", 10), number("sleep", 9)), true},
		{"one is missing", trialtest.Numbered(number("message", 10)), false},
		{
			"another quantity", trialtest.Numbered(number("message", 10), untilNextHolder.Event("sleep", 9)), false,
		},
	} {
		if found := notBelow(c.events, commandsPerWait, "sleep"); len(found) > 0 != c.found {
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
		"granted after the kill":    {trialtest.Numbered(refused, dead, granted), 0},
		"granted after the release": {trialtest.Numbered(refused, event("A", history.Release, ""), granted), 0},
		"granted before the kill":   {trialtest.Numbered(granted, dead), 1},
		"granted without a kill":    {trialtest.Numbered(granted), 1},
		"never granted":             {trialtest.Numbered(refused, dead, late), 1},
		"the holder's own grant":    {trialtest.Numbered(event("A", history.Grant, ""), refused, dead, granted), 0},
	} {
		if found := wrongAfterDeath(c.events); len(found) != c.found {
			t.Errorf("%s: found %+v", name, found)
		}
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
		"another booking":              {trialtest.Numbered(wants("A", "x"), wants("B", "y"), granted, refused), 1},
		"another remark comes later":   {trialtest.Numbered(wants("A", "x"), wants("B", "y"), wants("B", ""), granted, refused), 1},
		"the same booking":             {trialtest.Numbered(wants("A", "x"), wants("B", "x"), granted, refused), 0},
		"another booking, other keys":  {trialtest.Numbered(wants("A", "x"), wants("B", "y"), granted, event("B", history.Refuse, "l")), 0},
		"refused after A has released": {trialtest.Numbered(wants("A", "x"), wants("B", "y"), granted, released, refused), 0},
	} {
		if found := refusedByAnotherBooking(c.events); len(found) != c.found {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// L26: a wait that ends in a refusal is in vain because of a circle only if it leads from holder to holder back to the client.
func TestWaitedInCircle(t *testing.T) {
	const crossed = "A/1 grant 1\nB/1 grant 2\nA/2 request 2\nB/2 request 1\n"
	const both = "A and B waited for each other until the wait of A ended "
	for name, c := range map[string]struct{ history, want string }{
		"two":                          {crossed + "A/2 refuse 2: waited too long", both + "[1 2 3 4 5]"},
		"an attempt that did not wait": {crossed + "A/2 refuse 2: another client holds it", ""},
		"it ends by itself":            {crossed + "B/1 lose 2: its lease ended\nA/2 refuse 2: waited too long", ""},
		"the lock was released":        {crossed + "B/1 release 2\nA/2 refuse 2: waited too long", ""},
		"a late release of another":    {crossed + "C/1 release 2\nA/2 refuse 2: waited too long", both + "[1 2 3 4 6]"},
		"the holder has both":          {"B/1 grant 2\nB/2 grant 1\nA/1 request 2\nA/1 refuse 2: waited too long", ""},
		"one waits for a circle":       {crossed + "C/1 request 1\nC/1 refuse 1: waited too long", ""},
		"three": {
			"A/1 grant 1\nB/1 grant 2\nC/1 grant 3\nA/2 request 2\nB/2 request 3\nC/2 request 1\nB/2 refuse 3: waited too long",
			"B and C and A waited for each other until the wait of B ended [1 2 3 4 5 6 7]",
		},
	} {
		var found []string
		for _, v := range waitedInCircle(script.Events(t, c.history)) {
			found = append(found, fmt.Sprint(v.What, " ", v.Events))
		}
		if got := strings.Join(found, "; "); got != c.want {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

// L09: a sleep must be worse than the message in one of the numbers at least.
func TestBetterInBoth(t *testing.T) {
	number := func(timeline string, requests, wait int64) []history.Event {
		return []history.Event{commandsPerWait.Event(timeline, requests), untilNextHolder.Event(timeline, wait)}
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
		if found := betterInBoth(trialtest.Numbered(append(c.sleep, message...)...)); len(found) != c.found {
			t.Errorf("%s: found %+v", name, found)
		}
	}
	if found := betterInBoth(trialtest.Numbered(number("sleep 1 ms", 44, 699)...)); len(found) > 0 {
		t.Errorf("without a message: found %+v", found)
	}
}
