package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"locklab/history"
	"locklab/lockstrategy/naive"
)

// Bounds are what may happen in an order.
type Bounds struct {
	Clients string // a letter each: AB, ABC
	Deaths  int    // how many may die, each before any of its steps
	Expiry  int    // how often time may pass, until every expiry is over
	Lost    int    // how many answers to an acquire may be lost
}

// Found is what Explore found.
type Found struct {
	Lock           string
	Bounds         Bounds
	Interleavings  *big.Int  // all of them
	Violating      *big.Int  // that end in a breach
	States         int       // different ones that they go through
	Counterexample []Move    // that breaks; nil: none does
	Violation      Violation // in which the shortest ends
}

// String is the result in a sentence.
func (f Found) String() string {
	if f.Violating.Sign() == 0 {
		return fmt.Sprintf("held in all %s orders (%d states)", f.Interleavings, f.States)
	}
	return fmt.Sprintf("broken in %s of %s orders (%d states); the shortest: %s — %s", f.Violating, f.Interleavings, f.States, Text(f.Counterexample), f.Violation)
}

// Explore runs every order in which the clients can take their steps, die, and have time pass, within bounds, and
// says how many end in one of breaches. Orders that reach the same state go on together, so that each state is
// run once: what is counted is orders all the same.
func Explore(ctx context.Context, lock naive.Lock, bounds Bounds, breaches ...Violation) (f Found, err error) {
	x, start, err := newExplorer(lock, bounds)
	if err != nil {
		return Found{}, err
	}
	defer func() { err = errors.Join(err, x.memory.Close()) }()
	x.breaches = breaches
	top, err := x.explore(ctx, start)
	if err != nil {
		return Found{}, err
	}
	f = Found{Lock: lock.Name, Bounds: bounds, Interleavings: top.orders, Violating: top.broken, States: len(x.seen)}
	if f.Violating.Sign() > 0 {
		f.Counterexample, f.Violation = x.shortest(top)
	}
	return f, nil
}

type explorer struct {
	memory   *Memory
	lock     naive.Lock
	breaches []Violation
	seen     map[string]*node
	record   func(history.Event)
}

// newExplorer starts a server, and says where everything begins.
func newExplorer(lock naive.Lock, bounds Bounds) (*explorer, position, error) {
	memory, err := NewMemory()
	if err != nil {
		return nil, position{}, err
	}
	x := &explorer{memory: memory, lock: lock, seen: make(map[string]*node), record: nowhere}
	start := position{bounds: bounds}
	for _, w := range New(lock, memory, time.Minute, bounds.Clients, nil).Walkers {
		start.walkers = append(start.walkers, *w)
	}
	return x, start, nil
}

// world is the clients of p on the explorer's server.
func (x *explorer) world(p *position) *World {
	w := &World{Lock: x.lock, server: x.memory, record: x.record}
	for i := range p.walkers {
		w.Walkers = append(w.Walkers, &p.walkers[i])
	}
	return w
}

// position is a state: all that the future depends on.
type position struct {
	walkers []Walker
	redis   snapshot
	bounds  Bounds // what is left of them
	holder  string // whose move made the lock what it is
	foreign bool   // somebody else has deleted it while it was there
	stolen  bool   // somebody else has overwritten it
}

// node is what becomes of a state.
type node struct {
	orders, broken *big.Int
	depth          int // moves to the nearest broken end; -1: there is none
	breach         Violation
	move           Move // the first of them
	next           *node
}

func (x *explorer) explore(ctx context.Context, p position) (*node, error) {
	key := p.key()
	if n := x.seen[key]; n != nil {
		return n, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := &node{orders: new(big.Int), broken: new(big.Int), depth: -1}
	moves := p.moves()
	if len(moves) == 0 {
		n.orders.SetInt64(1)
		if n.breach = x.breach(p); n.breach != "" {
			n.broken.SetInt64(1)
			n.depth = 0
		}
	}
	for _, m := range moves {
		after, err := x.move(ctx, p, m)
		if err != nil {
			return nil, err
		}
		next, err := x.explore(ctx, after)
		if err != nil {
			return nil, err
		}
		n.orders.Add(n.orders, next.orders)
		n.broken.Add(n.broken, next.broken)
		if next.depth >= 0 && (n.depth < 0 || next.depth+1 < n.depth) {
			n.depth, n.move, n.next, n.breach = next.depth+1, m, next, next.breach
		}
	}
	x.seen[key] = n
	return n, nil
}

// moves are those that are possible. When everybody has ended nothing happens any more.
func (p position) moves() (all []Move) {
	for _, c := range p.walkers {
		if c.phase != ended {
			all = append(all, Move{Who: c.Name})
			if p.bounds.Deaths > 0 {
				all = append(all, Move{Who: c.Name, Die: true})
			}
			if p.bounds.Lost > 0 && c.phase == acquiring {
				all = append(all, Move{Who: c.Name, Lose: true})
			}
		}
	}
	if len(all) > 0 && p.bounds.Expiry > 0 && len(p.redis.expiry) > 0 {
		all = append(all, Move{})
	}
	return all
}

// move returns the state after m.
func (x *explorer) move(ctx context.Context, p position, m Move) (position, error) {
	if err := x.memory.restore(p.redis); err != nil {
		return p, err
	}
	after := position{walkers: slices.Clone(p.walkers), bounds: p.bounds, holder: p.holder, foreign: p.foreign, stolen: p.stolen}
	if err := x.world(&after).Move(ctx, m); err != nil {
		return p, err
	}
	switch {
	case m.Who == "":
		after.bounds.Expiry--
	case m.Die:
		after.bounds.Deaths--
	case m.Lose:
		after.bounds.Lost--
	}
	var err error
	if after.redis, err = x.memory.snapshot(); err != nil {
		return p, err
	}
	after.follow(p, m)
	return after, nil
}

// breach is the first of those that are looked for; empty: none is there.
func (x *explorer) breach(p position) Violation {
	for _, b := range x.breaches {
		if p.has(b) {
			return b
		}
	}
	return ""
}

func (p position) key() string {
	parts := []string{p.redis.String(), fmt.Sprint(p.bounds, p.holder, p.foreign, p.stolen)}
	for i := range p.walkers {
		parts = append(parts, p.walkers[i].state())
	}
	return strings.Join(parts, "|")
}

func (x *explorer) shortest(n *node) (moves []Move, breach Violation) {
	for ; n.next != nil; n = n.next {
		moves = append(moves, n.move)
	}
	return moves, n.breach
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), cmp.Compare[string])
}
