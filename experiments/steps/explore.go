package steps

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"locklab/lockstrategy/naive"
)

// Breach is what can be wrong with a lock at the end of an order.
type Breach string

// What can be wrong.
const (
	LostUpdate Breach = "an update is lost"
	Orphaned   Breach = "the lock stays, and nobody has it"
	Foreign    Breach = "a client deleted another's lock"
)

// Bounds are what may happen in an order.
type Bounds struct {
	Clients string // a letter each: AB, ABC
	Deaths  int    // how many may die, each before any of its steps
	Expiry  int    // how often time may pass, until every expiry is over
}

// Found is what Explore found.
type Found struct {
	Lock     string
	Bounds   Bounds
	Orders   *big.Int // all of them
	Broken   *big.Int // that end in a breach
	States   int      // different ones that they go through
	Shortest []Move   // that breaks; nil: none does
	Breach   Breach   // in which the shortest ends
}

// String is the result in a sentence.
func (f Found) String() string {
	if f.Broken.Sign() == 0 {
		return fmt.Sprintf("held in all %s orders (%d states)", f.Orders, f.States)
	}
	return fmt.Sprintf("broken in %s of %s orders (%d states); the shortest: %s — %s", f.Broken, f.Orders, f.States, Text(f.Shortest), f.Breach)
}

// Explore runs every order in which the clients can take their steps, die, and have time pass, within bounds, and
// says how many end in one of breaches. Orders that reach the same state go on together, so that each state is
// run once: what is counted is orders all the same.
func Explore(ctx context.Context, lock naive.Lock, bounds Bounds, breaches ...Breach) (Found, error) {
	memory, err := NewMemory()
	if err != nil {
		return Found{}, err
	}
	defer memory.Close()
	x := &explorer{memory: memory, lock: lock, breaches: breaches, seen: make(map[string]*node)}
	start := world{bounds: bounds}
	for _, w := range New(lock, memory, time.Minute, bounds.Clients, nil).Walkers {
		start.walkers = append(start.walkers, *w)
	}
	top, err := x.explore(ctx, start)
	if err != nil {
		return Found{}, err
	}
	f := Found{Lock: lock.Name, Bounds: bounds, Orders: top.orders, Broken: top.broken, States: len(x.seen)}
	if f.Broken.Sign() > 0 {
		f.Shortest, f.Breach = x.shortest(top)
	}
	return f, nil
}

type explorer struct {
	memory   *Memory
	lock     naive.Lock
	breaches []Breach
	seen     map[string]*node
}

// world is a state: all that the future depends on.
type world struct {
	walkers []Walker
	redis   snapshot
	bounds  Bounds // what is left of them
	holder  string // who took the lock last
	foreign bool   // somebody else has deleted it while it was there
}

// node is what becomes of a state.
type node struct {
	orders, broken *big.Int
	depth          int // moves to the nearest broken end; -1: there is none
	breach         Breach
	move           Move // the first of them
	next           *node
}

func (x *explorer) explore(ctx context.Context, w world) (*node, error) {
	key := w.key()
	if n := x.seen[key]; n != nil {
		return n, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n := &node{orders: new(big.Int), broken: new(big.Int), depth: -1}
	moves := w.moves()
	if len(moves) == 0 {
		n.orders.SetInt64(1)
		if n.breach = x.breach(w); n.breach != "" {
			n.broken.SetInt64(1)
			n.depth = 0
		}
	}
	for _, m := range moves {
		after, err := x.move(ctx, w, m)
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
func (w world) moves() (all []Move) {
	for _, c := range w.walkers {
		if c.phase != ended {
			all = append(all, Move{Who: c.Name})
			if w.bounds.Deaths > 0 {
				all = append(all, Move{Who: c.Name, Die: true})
			}
		}
	}
	if len(all) > 0 && w.bounds.Expiry > 0 && len(w.redis.expiry) > 0 {
		all = append(all, Move{})
	}
	return all
}

// move returns the state after m.
func (x *explorer) move(ctx context.Context, w world, m Move) (world, error) {
	if err := x.memory.restore(w.redis); err != nil {
		return w, err
	}
	after := world{walkers: slices.Clone(w.walkers), bounds: w.bounds, holder: w.holder, foreign: w.foreign}
	there := &World{Lock: x.lock, server: x.memory, record: nowhere}
	for i := range after.walkers {
		there.Walkers = append(there.Walkers, &after.walkers[i])
	}
	if err := there.Move(ctx, m); err != nil {
		return w, err
	}
	switch {
	case m.Who == "":
		after.bounds.Expiry--
	case m.Die:
		after.bounds.Deaths--
	}
	var err error
	if after.redis, err = x.memory.snapshot(); err != nil {
		return w, err
	}
	if m.Who != "" && w.redis.locked() && !after.redis.locked() && w.holder != m.Who {
		after.foreign = true
	}
	for i, c := range w.walkers {
		if c.phase == acquiring && after.walkers[i].inside() {
			after.holder = c.Name
		}
	}
	return after, nil
}

// breach is the first of those that are looked for; empty: none is there.
func (x *explorer) breach(w world) Breach {
	for _, b := range x.breaches {
		if b == Foreign && w.foreign || b == Orphaned && w.orphaned() || b == LostUpdate && w.lost() {
			return b
		}
	}
	return ""
}

func (w world) orphaned() bool {
	return w.redis.locked() && w.redis.expiry[naive.Key] == 0
}

// lost reports whether the counter is behind the updates that were confirmed.
func (w world) lost() bool {
	n := 0
	for _, c := range w.walkers {
		if c.wrote > 0 {
			n++
		}
	}
	return n > 0 && w.redis.strings[Counter] != fmt.Sprint(n)
}

func (w world) key() string {
	parts := []string{w.redis.String(), fmt.Sprint(w.bounds, w.holder, w.foreign)}
	for i := range w.walkers {
		parts = append(parts, w.walkers[i].state())
	}
	return strings.Join(parts, "|")
}

func (x *explorer) shortest(n *node) (moves []Move, breach Breach) {
	for ; n.next != nil; n = n.next {
		moves = append(moves, n.move)
	}
	return moves, n.breach
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), cmp.Compare[string])
}
