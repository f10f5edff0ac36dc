package lockmodel

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab/history"
	"locklab/lab/testenv/script"
)

// model makes histories of clients that lock, read a counter, write it back plus one and unlock, in a random order. Its lock
// may let in a second client. Its clients may die, learn of a loss, or write without a confirmation.
type model struct {
	rand    *rand.Rand
	leaky   bool // the lock lets in a second holder now and then
	silent  bool // now and then a write is not confirmed
	clients []*modelClient
	holder  map[string]string // by lock key: the owner
	counter map[string]int64
	at      time.Duration
	events  []history.Event
}

type modelClient struct {
	name     string
	attempt  int
	step     int
	lock     string
	resource string
	read     int64
}

func (c *modelClient) owner() string { return fmt.Sprintf("%s%d", c.name, c.attempt) }

func newModel(seed uint64) *model {
	m := &model{rand: rand.New(rand.NewPCG(seed, 1)), holder: map[string]string{}, counter: map[string]int64{}}
	m.leaky, m.silent = m.rand.IntN(2) == 0, m.rand.IntN(4) == 0
	for i := range 2 + m.rand.IntN(3) {
		m.clients = append(m.clients, &modelClient{name: string(rune('A' + i))})
	}
	return m
}

func (m *model) add(c *modelClient, kind history.Kind, key string, value int64) {
	if m.rand.IntN(8) > 0 { // clocks are coarse: two events may have one time
		m.at += time.Duration(1 + m.rand.IntN(5))
	}
	m.events = append(m.events, history.Event{
		Seq: len(m.events) + 1, Variant: "variant", Trial: 1, At: m.at, Timeline: c.name, Owner: c.owner(), Kind: kind, Key: key, Value: value,
	})
}

// run lets the clients move, and ends with what the counters hold.
func (m *model) run() []history.Event {
	for range 8 + m.rand.IntN(40) {
		m.move(m.clients[m.rand.IntN(len(m.clients))])
	}
	for key, value := range m.counter {
		m.add(&modelClient{name: "resource"}, history.Final, key, value)
	}
	return m.events
}

func (m *model) move(c *modelClient) {
	switch c.step {
	case 0:
		c.attempt++
		n := fmt.Sprint(m.rand.IntN(2))
		c.lock, c.resource = "lock"+n, "counter"+n
		m.add(c, history.Request, c.lock, 0)
	case 1:
		if m.holder[c.lock] != "" && (!m.leaky || m.rand.IntN(3) > 0) {
			return // it waits
		}
		m.holder[c.lock] = c.owner()
		m.add(c, history.Grant, c.lock, 0)
	case 2:
		c.read = m.counter[c.resource]
		m.add(c, history.Read, c.resource, c.read)
	case 3:
		m.counter[c.resource] = c.read + 1
		if !m.silent || m.rand.IntN(4) > 0 {
			m.add(c, history.Write, c.resource, c.read+1)
		}
	case 4:
		m.end(c)
	case 5:
		m.add(c, history.Released, c.lock, 0)
		c.step = -1
	}
	c.step++
}

// end releases the lock, dies, or learns that it has lost it: then others may be granted it.
func (m *model) end(c *modelClient) {
	kind := []history.Kind{history.Release, history.Release, history.Release, history.Lose, history.Die}[m.rand.IntN(5)]
	m.add(c, kind, c.lock, 0)
	if m.holder[c.lock] == c.owner() {
		m.holder[c.lock] = ""
	}
	if kind == history.Die {
		c.step = 99 // for good
	}
}

// How many histories there are.
const modelled = 2000

// Our checks and porcupine are written independently; over many histories they say the same.
func TestChecksAgreeWithPorcupine(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(modelled) {
		events := newModel(seed).run()
		if err := Agree(events); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, history.Timelines(events))
		}
		seen[fmt.Sprintf("overlap %v, lost %v", len(exclusion(events)) > 0, len(history.Counter(events)) > 0)]++
	}
	// Histories that are all correct, or all violations, would agree with anything.
	for _, kind := range []string{"overlap false, lost false", "overlap true, lost false", "overlap true, lost true"} {
		if seen[kind] < modelled/50 {
			t.Errorf("only %d of %d histories have: %s", seen[kind], modelled, kind)
		}
	}
}

// A wrong check is found.
func TestWrongCheckIsFoundOut(t *testing.T) {
	blind := func([]history.Event) []history.Violation { return nil }
	without := func(kind history.Kind, check func([]history.Event) []history.Violation) func([]history.Event) []history.Violation {
		return func(events []history.Event) []history.Violation {
			var left []history.Event
			for _, e := range events {
				if e.Kind != kind {
					left = append(left, e)
				}
			}
			return check(left)
		}
	}
	first := func(check func([]history.Event) []history.Violation) func([]history.Event) []history.Violation {
		return func(events []history.Event) []history.Violation { return check(events[:len(events)/2]) }
	}
	for _, c := range []struct {
		name              string
		overlaps, counter func([]history.Event) []history.Violation
	}{
		{"overlaps sees nothing", blind, history.Counter},
		{"overlaps sees no loss", without(history.Lose, exclusion), history.Counter},
		{"overlaps sees no death", without(history.Die, exclusion), history.Counter},
		{"overlaps sees no release", without(history.Release, exclusion), history.Counter},
		{"overlaps sees the first half", first(exclusion), history.Counter},
		{"counter sees nothing", exclusion, blind},
		{"counter sees no write", exclusion, without(history.Write, history.Counter)},
		{"counter sees the first half", exclusion, first(history.Counter)},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(modelled) {
				if agree(newModel(seed).run(), c.overlaps, c.counter) != nil {
					return
				}
			}
			t.Error("porcupine did not notice")
		})
	}
}

func TestAgree(t *testing.T) {
	overlap := func([]history.Event) []history.Violation {
		return []history.Violation{{Key: "lock", What: "A and B both held lock"}}
	}
	const says = "lock: porcupine accepts the history, but A and B both held lock"
	events := script.Events(t, "A grant lock\nA release lock\nB grant lock")
	if err := agree(events, overlap, history.Counter); err == nil || err.Error() != says {
		t.Errorf("a check that finds what is not there: %v", err)
	}
	no := func([]history.Event) []history.Violation { return nil }
	for _, c := range []struct{ name, history, says string }{
		{"nothing", "", ""},
		{"two holders", "A grant lock\nB grant lock", "lock: porcupine rejects the history"},
		{"a value twice", "A read n 0\nB read n 0\nA write n 1\nB write n 1", "porcupine says that no update is lost: false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Agree(script.Events(t, c.history)); err != nil {
				t.Error(err)
			}
			err := agree(script.Events(t, c.history), no, no)
			if (err == nil) != (c.says == "") || err != nil && !strings.HasPrefix(err.Error(), c.says) {
				t.Errorf("a check that finds nothing: %v, want %q", err, c.says)
			}
		})
	}
}

// Many values that are written twice have one answer, and soon: one of them is enough. All of them have 2 to the power of 40 orders.
func TestAgreeOnManyValuesThatAreWrittenTwice(t *testing.T) {
	var text strings.Builder
	for n := range 80 {
		fmt.Fprintf(&text, "A/%d read n %d\n", n, n/2)
	}
	for n := range 80 {
		fmt.Fprintf(&text, "A/%d write n %d\n", n, n/2+1)
	}
	if err := Agree(script.Events(t, text.String())); err != nil {
		t.Error(err)
	}
}

// A counter that goes back, although each value is written once, is a disagreement: our check does not see it.
func TestAgreeOnACounterThatGoesBack(t *testing.T) {
	back := script.Events(t, "A read n 0\nA write n 2\nB read n 0\nB write n 1")
	if err := Agree(back); len(history.Counter(back)) != 0 || err == nil || !strings.Contains(err.Error(), "our own check finds 0") {
		t.Errorf("got %v", err)
	}
	unread := script.Events(t, "A write n 2\nB write n 1")                         // B's write may have begun before A's
	beside := script.Events(t, "A read n 0\nB read n 0\nA write n 2\nB write n 1") // here B's write may have come first
	if err := errors.Join(Agree(unread), Agree(beside)); err != nil {
		t.Error(err)
	}
}

// A fault excuses the two sessions that it may have ended: not those that began after it, nor those that overlapped before it.
func TestAFaultExcusesWhatItMayHaveEnded(t *testing.T) {
	for _, c := range []struct {
		name, history string
		both          []int // events that show that two held it
	}{
		{"between the grants", "A request k\nA grant k\nserver fault k\nserver heal k\nB request k\nB grant k", nil},
		{"while it lasts", "server fault k\nA request k\nA grant k\nB request k\nB grant k", nil},
		{"before both", "server fault k\nserver heal k\nA request k\nA grant k\nB request k\nB grant k", []int{3, 4, 5, 6}},
		{"after both", "A request k\nA grant k\nB request k\nB grant k\nserver fault k\nserver heal k", []int{1, 2, 3, 4}},
	} {
		found := exclusion(script.Events(t, c.history))
		if len(found) != min(1, len(c.both)) || len(found) > 0 && !slices.Equal(found[0].Events, c.both) {
			t.Errorf("%s: found %v, want %v", c.name, found, c.both)
		}
	}
}

// Without a fault, and with a time of its own for each event, the check of the experiments finds the same.
func TestTheCheckOfTheExperimentsFindsTheSame(t *testing.T) {
	for seed := range uint64(modelled) {
		events := newModel(seed).run()
		for i := range events {
			events[i].At = time.Duration(i)
		}
		theirs, ours := history.Exclusion(events), exclusion(events)
		for _, found := range [][]history.Violation{theirs, ours} { // which key comes first does not matter
			slices.SortFunc(found, func(a, b history.Violation) int { return slices.Compare(a.Events, b.Events) })
		}
		if !reflect.DeepEqual(theirs, ours) {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, theirs, ours, history.Timelines(events))
		}
	}
}
