package history

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
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
	events  []Event
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

func (m *model) add(c *modelClient, kind Kind, key string, value int64) {
	if m.rand.IntN(8) > 0 { // clocks are coarse: two events may have one time
		m.at += time.Duration(1 + m.rand.IntN(5))
	}
	m.events = append(m.events, Event{
		Seq: len(m.events) + 1, Variant: "variant", Trial: 1, At: m.at, Timeline: c.name, Owner: c.owner(), Kind: kind, Key: key, Value: value,
	})
}

// run lets the clients move, and ends with what the counters hold.
func (m *model) run() []Event {
	for range 8 + m.rand.IntN(40) {
		m.move(m.clients[m.rand.IntN(len(m.clients))])
	}
	for key, value := range m.counter {
		m.add(&modelClient{name: "resource"}, Final, key, value)
	}
	return m.events
}

func (m *model) move(c *modelClient) {
	switch c.step {
	case 0:
		c.attempt++
		n := fmt.Sprint(m.rand.IntN(2))
		c.lock, c.resource = "lock"+n, "counter"+n
		m.add(c, Request, c.lock, 0)
	case 1:
		if m.holder[c.lock] != "" && (!m.leaky || m.rand.IntN(3) > 0) {
			return // it waits
		}
		m.holder[c.lock] = c.owner()
		m.add(c, Grant, c.lock, 0)
	case 2:
		c.read = m.counter[c.resource]
		m.add(c, Read, c.resource, c.read)
	case 3:
		m.counter[c.resource] = c.read + 1
		if !m.silent || m.rand.IntN(4) > 0 {
			m.add(c, Write, c.resource, c.read+1)
		}
	case 4:
		m.end(c)
	case 5:
		m.add(c, Released, c.lock, 0)
		c.step = -1
	}
	c.step++
}

// end releases the lock, dies, or learns that it has lost it: then others may be granted it.
func (m *model) end(c *modelClient) {
	kind := []Kind{Release, Release, Release, Lose, Die}[m.rand.IntN(5)]
	m.add(c, kind, c.lock, 0)
	if m.holder[c.lock] == c.owner() {
		m.holder[c.lock] = ""
	}
	if kind == Die {
		c.step = 99 // for good
	}
}

// How many histories there are.
const modelled = 5000

// Our checks and porcupine are written independently; over many histories they say the same.
func TestChecksAgreeWithPorcupine(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(modelled) {
		events := newModel(seed).run()
		if err := Agree(events); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, Timelines(events))
		}
		seen[fmt.Sprintf("overlap %v, lost %v", len(Exclusion(events)) > 0, len(Counter(events)) > 0)]++
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
	blind := func([]Event) []Violation { return nil }
	without := func(kind Kind, check func([]Event) []Violation) func([]Event) []Violation {
		return func(events []Event) []Violation {
			var left []Event
			for _, e := range events {
				if e.Kind != kind {
					left = append(left, e)
				}
			}
			return check(left)
		}
	}
	first := func(check func([]Event) []Violation) func([]Event) []Violation {
		return func(events []Event) []Violation { return check(events[:len(events)/2]) }
	}
	for _, c := range []struct {
		name              string
		overlaps, counter func([]Event) []Violation
	}{
		{"overlaps sees nothing", blind, Counter},
		{"overlaps sees no loss", without(Lose, Exclusion), Counter},
		{"overlaps sees no death", without(Die, Exclusion), Counter},
		{"overlaps sees no release", without(Release, Exclusion), Counter},
		{"overlaps sees the first half", first(Exclusion), Counter},
		{"counter sees nothing", Exclusion, blind},
		{"counter sees no write", Exclusion, without(Write, Counter)},
		{"counter sees the first half", Exclusion, first(Counter)},
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
