package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

// Play is a lock on a [Memory] that a person moves: one move at a time, and each can be taken back.
type Play struct {
	x     *explorer
	began time.Time
	past  []played // the last one is now
}

// played is a position, and everything that has happened before it.
type played struct {
	position
	events []history.Event
	made   []Move
}

// NewPlay begins, with a client for each letter. The caller must close it.
func NewPlay(lock articlelock.Lock, clients string) (*Play, error) {
	x, start, err := newExplorer(lock, Bounds{Clients: clients})
	if err != nil {
		return nil, err
	}
	return &Play{x: x, began: time.Now(), past: []played{{position: start}}}, nil
}

// Replay plays moves, and returns what happens and the violations at the end.
func Replay(
	ctx context.Context, lock articlelock.Lock, clients string, moves []Move,
) (events []history.Event, found []Violation, err error) {
	p, err := NewPlay(lock, clients)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	for _, m := range moves {
		if _, err := p.Move(ctx, m); err != nil {
			return nil, nil, err
		}
	}
	return p.Events(), p.Violations(), nil
}

// Until returns the moves up to the one after which a violation shows; all moves: it shows at the end, or never.
func Until(ctx context.Context, lock articlelock.Lock, clients string, moves []Move, v Violation) (first []Move, err error) {
	p, err := NewPlay(lock, clients)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	for _, m := range moves {
		if _, err := p.Move(ctx, m); err != nil {
			return nil, err
		}
		if slices.Contains(p.Violations(), v) {
			return p.Moves(), nil
		}
	}
	return moves, nil
}

// Close ends it.
func (p *Play) Close() error { return p.x.memory.Close() }

func (p *Play) now() played { return p.past[len(p.past)-1] }

// Work is what each client of a play does.
const Work = "Each client takes the lock, reads a counter, writes it back plus one, and releases the lock."

// Move does one move, and returns what came of it. An error that says that the move is not possible changes nothing.
func (p *Play) Move(ctx context.Context, m Move) (happened []history.Event, err error) {
	before := p.now()
	if before.over() {
		return nil, fmt.Errorf("%s is not possible: every client has ended, and nothing happens any more", m)
	}
	p.x.record = func(e history.Event) {
		e.Seq, e.At = len(before.events)+len(happened)+1, time.Since(p.began)
		happened = append(happened, e)
	}
	after, err := p.x.move(ctx, before.position, m)
	if err != nil {
		return nil, fmt.Errorf("%s is not possible: %w", m, err)
	}
	if after.over() {
		if err := p.x.world(&after).End(ctx); err != nil {
			return nil, err
		}
	}
	p.past = append(p.past, played{after, slices.Concat(before.events, happened), append(slices.Clone(before.made), m)})
	return happened, nil
}

// TakeBack takes the last move back, if there is one.
func (p *Play) TakeBack() bool {
	if len(p.past) == 1 {
		return false
	}
	p.past = p.past[:len(p.past)-1]
	return true
}

// Over reports whether every client has ended.
func (p *Play) Over() bool { return p.now().over() }

// Names has a letter for each client.
func (p *Play) Names() string { return p.now().bounds.Clients }

// Can reports whether a move is possible.
func (p *Play) Can(m Move) bool {
	now := p.now()
	return !now.over() && p.x.world(&now.position).Can(m)
}

// Moves are those so far.
func (p *Play) Moves() []Move { return p.now().made }

// Events is what has happened so far.
func (p *Play) Events() []history.Event { return p.now().events }

// Violations are those so far.
func (p *Play) Violations() (all []Violation) {
	for _, b := range violations {
		if p.now().has(b) {
			all = append(all, b)
		}
	}
	return all
}

// Outcome says what is violated so far, and by which move, or that nothing is.
func (p *Play) Outcome() (sentences []string) {
	for _, v := range p.Violations() {
		sentences = append(sentences, "Violation: "+string(v)+". "+p.why(v))
	}
	switch {
	case len(sentences) > 0:
		return sentences
	case p.Over():
		return []string{"Every client has ended, without a violation."}
	}
	return []string{"No violation so far; not every client has ended."}
}

// why says how a violation came about.
func (p *Play) why(v Violation) string {
	first := slices.IndexFunc(p.past, func(then played) bool { return then.has(v) })
	return v.why(p.now().position, p.past[first-1].position, p.past[first].made[first-1])
}

// Mistaken says why a client wrongly believes that it holds the lock; empty: it does not.
func (p *Play) Mistaken(c Client) string {
	now := p.now()
	switch {
	case !c.believes() || now.holder == c.Name:
		return ""
	case now.holder == "":
		return "nobody holds it now"
	case slices.ContainsFunc(now.clients, func(other Client) bool { return other.Name == now.holder && other.how == refused }):
		return now.holder + " has replaced its key"
	}
	return now.holder + " holds it now"
}

// Where says where a client is. One that is mistaken does not hold the lock.
func (p *Play) Where(c Client) string {
	where := c.Where()
	if rest, holds := strings.CutPrefix(where, "holds the lock"); holds && p.Mistaken(c) != "" {
		return "believes that it holds the lock" + rest
	}
	return where
}

// Clients are the clients, each with its position.
func (p *Play) Clients() []Client { return slices.Clone(p.now().clients) }

// Stored is a key of the server.
type Stored struct{ Key, Value, Expires string }

// Keys are what the server stores.
func (p *Play) Keys() (all []Stored) {
	redis := p.now().redis
	for _, key := range sortedKeys(redis) {
		c, expires := redis[key], "never"
		if c.expires > 0 {
			expires = "in " + c.expires.String()
		}
		if c.hash == nil {
			all = append(all, Stored{key, c.text, expires})
		}
		for _, field := range sortedKeys(c.hash) {
			all = append(all, Stored{key, field + ": " + c.hash[field], expires})
		}
	}
	return all
}
