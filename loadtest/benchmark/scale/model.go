// Package scale makes the tables of docs/scale.md from saved runs: what grows how with processes and keys. It also has a model of what this
// machine cannot measure, because clients and servers share it.
package scale

import (
	"container/heap"
	"math/rand/v2"
	"slices"
)

// The model is a closed network of queues. Each key is one job, because its sections run one after the other and somebody always waits for
// it. A section is a step at the clients and a step at Redis, and so is a hand-over to another process. Redis executes one step at a time.
//
// Times of service are exponential. They vary with the scheduler on a real machine, and with them a network of queues has an exact
// solution, which the test compares. Times are in µs.

// step is a section, or a hand-over.
type step struct {
	Client, Redis float64 // processor time
	Delay         float64 // nothing that others wait for is busy: the network, and threads that wake up
}

// world is what is simulated.
type world struct {
	keys, masters int     // key i is on master i modulo masters
	processors    int     // shared by clients and masters; 0: each master has one of its own, and the clients have enough
	leases        int     // bounds of a turn, after which comes a hand-over …
	turn          float64 // … whichever is reached first
	section       step
	handOver      step
}

// outcome is what a simulation has counted.
type outcome struct {
	rate    float64 // sections per second of all keys
	perTurn float64 // sections
	redis   float64 // busy part of the masters' time, 0 to 1
	clients float64 // processors that the clients keep busy
}

// seed of every run.
const seed = 2026

// simulation is a run of the model.
type simulation struct {
	world
	random      *rand.Rand
	now         float64
	events      events
	sequence    int
	shared      []*station
	masters     []*station
	done, turns int
	inTurns     int // sections of the turns that have ended
	warm        int // keys that have had so many turns as a warm-up needs
	busy        struct{ redis, clients float64 }
}

// key is where a key is in its turn.
type key struct {
	redis  []*station // its master, and what that needs
	leases int
	since  float64
	turns  int // since the simulation began
}

// warmTurns is how many turns of each key do not count: the keys begin in parts of turns that somebody has invented.
const warmTurns = 5

// longest is how many sections a turn can have at most: no section takes less time than its steps, and than the busiest queue allows.
func (w world) longest() int {
	took := max(w.section.Client+w.section.Redis+w.section.Delay, w.section.Redis*float64(w.keys)/float64(w.masters))
	if w.processors > 0 {
		took = max(took, (w.section.Client+w.section.Redis)*float64(w.keys)/float64(w.processors))
	}
	return max(1, min(w.leases, int(w.turn/took)))
}

// run simulates so many sections, after a warm-up of a fifth as many, and of some turns of each key. The same world has the same outcome.
func (w world) run(counts int) outcome {
	s := &simulation{world: w, random: rand.New(rand.NewPCG(seed, 0))}
	if w.processors > 0 {
		s.shared = []*station{{free: w.processors}}
	}
	for range w.masters {
		s.masters = append(s.masters, &station{free: 1})
	}
	for i := range w.keys { // each key begins somewhere in its turn
		passed := s.random.Float64()
		k := &key{leases: int(passed * float64(w.longest())), since: -passed * w.turn}
		k.redis = append([]*station{s.masters[i%w.masters]}, s.shared...)
		s.sections(k)
	}
	s.until(func() bool { return s.done >= counts/5 && s.warm == w.keys })
	began := s.now
	s.done, s.turns, s.inTurns, s.busy.redis, s.busy.clients = 0, 0, 0, 0, 0
	s.until(func() bool { return s.done >= counts })
	took := s.now - began
	return outcome{
		rate: float64(s.done) / took * 1e6, perTurn: float64(s.inTurns) / float64(max(1, s.turns)),
		redis: s.busy.redis / took / float64(w.masters), clients: s.busy.clients / took,
	}
}

func (s *simulation) until(done func() bool) {
	for !done() {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
}

// sections is the life of a key.
func (s *simulation) sections(k *key) {
	s.step(k, s.section, func() {
		s.done++
		k.leases++
		if k.leases < s.leases && s.now-k.since < s.turn {
			s.sections(k)
			return
		}
		s.turns++
		s.inTurns += k.leases
		if k.turns++; k.turns == warmTurns {
			s.warm++
		}
		s.step(k, s.handOver, func() {
			k.leases, k.since = 0, s.now
			s.sections(k)
		})
	})
}

func (s *simulation) step(k *key, of step, then func()) {
	s.serve(s.shared, of.Client, &s.busy.clients, func() {
		s.serve(k.redis, of.Redis, &s.busy.redis, func() { s.after(of.Delay, then) })
	})
}

// serve keeps a processor of each station busy for the same time. A step that needs none does not wait for one.
func (s *simulation) serve(at []*station, mean float64, busy *float64, then func()) {
	if mean == 0 {
		then()
		return
	}
	enter(at, false, func() {
		took := float64(mean * s.random.ExpFloat64()) // rounded, so that every processor has the same outcome
		*busy += took
		s.after(took, func() {
			for _, station := range at {
				station.leave()
			}
			then()
		})
	})
}

// station has processors, and a queue.
type station struct {
	free    int
	waiting []func()
}

// enter takes a processor of each station, one after the other. first: before the queue.
func enter(at []*station, first bool, begin func()) {
	if len(at) == 0 {
		begin()
		return
	}
	// A master that waits for a processor goes first, as the scheduler does with a thread that sleeps often.
	rest := func() { enter(at[1:], true, begin) }
	switch station := at[0]; {
	case station.free > 0:
		station.free--
		rest()
	case first:
		station.waiting = slices.Insert(station.waiting, 0, rest)
	default:
		station.waiting = append(station.waiting, rest)
	}
}

func (s *station) leave() {
	if len(s.waiting) == 0 {
		s.free++
		return
	}
	next := s.waiting[0]
	s.waiting = s.waiting[1:]
	next()
}

// event is something that happens at a time. Of two at the same time, the one that was planned first happens first.
type event struct {
	at       float64
	sequence int
	do       func()
}

func (s *simulation) after(delay float64, do func()) {
	s.sequence++
	heap.Push(&s.events, event{s.now + delay, s.sequence, do})
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].sequence < e[j].sequence
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
