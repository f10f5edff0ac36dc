package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

// Bounds are what may happen in an interleaving.
type Bounds struct {
	Clients string `json:"clients"`      // a letter each: AB, ABC
	Deaths  int    `json:"deaths"`       // how many may die, each before any of its steps
	Expiry  int    `json:"expiries"`     // how often time may pass, until every expiry is over
	Lost    int    `json:"lost_replies"` // how many replies to an acquire may be lost
}

// MayHappen is what the interleavings are made of: the clients, and the moves beside their steps.
func (b Bounds) MayHappen() string {
	words := strings.Split(b.Clients, "")
	for _, n := range []struct {
		count int
		move  string
	}{{b.Deaths, "†"}, {b.Lost, "?"}, {b.Expiry, "…"}} {
		words = append(words, slices.Repeat([]string{n.move}, n.count)...)
	}
	return strings.Join(words, " ")
}

// Found is what Explore found.
type Found struct {
	Interleavings  *big.Int `json:"interleavings"` // all of them
	Violating      *big.Int `json:"violating"`     // that end in a violation
	States         int      `json:"states"`        // different ones that they go through
	Counterexample []Move   `json:"-"`             // the shortest interleaving that violates; nil: there is none
}

// String is how many interleavings there are and how many violate.
func (f Found) String() string {
	if f.Violating.Sign() == 0 {
		return fmt.Sprintf("no violation in all %s interleavings", f.Interleavings)
	}
	return fmt.Sprintf("violation in %s of %s interleavings", f.Violating, f.Interleavings)
}

// Explore runs every interleaving within bounds: clients do their steps or die, and time passes. It counts those that end in
// violation. Interleavings that reach the same state continue together, so that each state is run once. The count
// is of interleavings all the same.
func Explore(ctx context.Context, lock articlelock.Lock, bounds Bounds, violation Violation) (f Found, err error) {
	x, start, err := newExplorer(lock, bounds)
	if err != nil {
		return Found{}, err
	}
	defer func() { err = errors.Join(err, x.memory.Close()) }()
	x.violation = violation
	top, err := x.explore(ctx, start)
	if err != nil {
		return Found{}, err
	}
	f = Found{Interleavings: top.all, Violating: top.violating, States: len(x.seen)}
	if f.Violating.Sign() > 0 {
		for n := top; n.next != nil; n = n.next {
			f.Counterexample = append(f.Counterexample, n.move)
		}
	}
	return f, nil
}

type explorer struct {
	memory    *Memory
	lock      articlelock.Lock
	violation Violation // that is looked for
	seen      map[string]*node
	record    func(history.Event)
}

// newExplorer starts a server, and returns the position at which every interleaving begins.
func newExplorer(lock articlelock.Lock, bounds Bounds) (*explorer, position, error) {
	memory, err := NewMemory()
	if err != nil {
		return nil, position{}, err
	}
	x := &explorer{memory: memory, lock: lock, seen: make(map[string]*node), record: discard}
	start := position{bounds: bounds}
	for _, c := range New(lock, memory, exploreLease, bounds.Clients, nil).Clients {
		start.clients = append(start.clients, *c)
	}
	return x, start, nil
}

func (x *explorer) world(p *position) *World {
	w := &World{Lock: x.lock, server: x.memory, record: x.record}
	for i := range p.clients {
		w.Clients = append(w.Clients, &p.clients[i])
	}
	return w
}

// A move takes a second of a lease of a minute. So a lease that was extended differs from one that was not, and none ends by the moves
// alone.
const (
	moveTakes    = time.Second
	exploreLease = time.Minute
)

// position is a state: everything that the future depends on.
type position struct {
	clients      []Client
	redis        snapshot
	bounds       Bounds // what is left of them
	holder       string // the client whose move set the lock
	unlocked     bool   // another client deleted it
	overwritten  bool   // another client overwrote it
	extended     bool   // another client extended its lease
	falseRelease bool   // a release was confirmed to a client that did not hold it
}

// node is what follows from a state.
type node struct {
	all, violating *big.Int
	depth          int  // moves to the nearest end with a violation; -1: there is none
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
	n := &node{all: new(big.Int), violating: new(big.Int), depth: -1}
	moves := p.moves()
	if len(moves) == 0 {
		n.all.SetInt64(1)
		if p.has(x.violation) {
			n.depth = 0
			n.violating.SetInt64(1)
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
		n.all.Add(n.all, next.all)
		n.violating.Add(n.violating, next.violating)
		if next.depth >= 0 && (n.depth < 0 || next.depth+1 < n.depth) {
			n.depth, n.move, n.next = next.depth+1, m, next
		}
	}
	x.seen[key] = n
	return n, nil
}

// moves are those that are possible. When every client has ended nothing happens any more.
func (p position) moves() (all []Move) {
	for _, c := range p.clients {
		if c.phase != ended {
			all = append(all, Move{Client: c.Name})
			if p.bounds.Deaths > 0 {
				all = append(all, Move{Client: c.Name, Die: true})
			}
			if p.bounds.Lost > 0 && c.phase == acquiring {
				all = append(all, Move{Client: c.Name, Lose: true})
			}
		}
	}
	if len(all) > 0 && p.bounds.Expiry > 0 && (p.redis.expires() || p.clients[0].lock.ClientTime && p.redis.lock() != "") {
		all = append(all, Move{})
	}
	return all
}

func (x *explorer) move(ctx context.Context, p position, m Move) (position, error) {
	x.memory.restore(p.redis)
	if m.Client != "" {
		x.memory.redis.FastForward(moveTakes)
	}
	after := p
	after.clients = slices.Clone(p.clients)
	if err := x.world(&after).Move(ctx, m); err != nil {
		return p, err
	}
	switch {
	case m.Client == "":
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

func (p position) key() string {
	parts := []string{p.redis.String(), fmt.Sprint(p.bounds, p.holder, p.unlocked, p.overwritten, p.extended, p.falseRelease)}
	for i := range p.clients {
		parts = append(parts, p.clients[i].state())
	}
	return strings.Join(parts, "|")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
