package steps

import (
	"context"
	"fmt"
	"strings"
	"time"

	"locklab/history"
	"locklab/lockstrategy/naive"
)

// Server is the Redis behind a lock, and its clock.
type Server interface {
	Do(ctx context.Context, command ...any) (answer any, err error)
	// Pass lets time pass until the expiry of every key is over.
	Pass(ctx context.Context) error
}

// World is a server, and the clients of a lock on it.
type World struct {
	Lock    naive.Lock
	Walkers []*Walker

	server Server
	record func(history.Event)
}

// New returns a world with a client for each letter of names. record gets what happens, and may be nil.
func New(lock naive.Lock, server Server, lease time.Duration, names string, record func(history.Event)) *World {
	w := &World{Lock: lock, server: server, record: record}
	if w.record == nil {
		w.record = nowhere
	}
	for _, name := range strings.Split(names, "") {
		value := "attempt-" + name
		if lock.Shared {
			value = "driver"
		}
		w.Walkers = append(w.Walkers, newWalker(lock, naive.Client{Name: name, Value: value, Lease: lease}))
	}
	return w
}

func nowhere(history.Event) {}

// Move does one move. A client that has come to its end cannot move; the error says so.
func (w *World) Move(ctx context.Context, m Move) error {
	if m.Who == "" {
		w.record(history.Event{Timeline: "time", Kind: history.Note, Text: "passes, until every expiry is over"})
		return w.server.Pass(ctx)
	}
	for _, walker := range w.Walkers {
		if walker.Name != m.Who {
			continue
		}
		if how, over := walker.Ended(); over {
			return fmt.Errorf("%s cannot move: it is %s", m.Who, how)
		}
		switch {
		case m.Die:
			walker.die()
			w.record(w.event(walker, history.Die, ""))
			return nil
		case m.Lose && walker.phase != acquiring:
			return fmt.Errorf("%s cannot lose this answer: only one about the acquire is worth losing", m.Who)
		case m.Lose:
			return w.lose(ctx, walker)
		}
		return w.step(ctx, walker)
	}
	return fmt.Errorf("there is no client %s", m.Who)
}

// Can reports whether m is possible: time can always pass, and a client move until it has come to its end.
func (w *World) Can(m Move) bool {
	for _, walker := range w.Walkers {
		if walker.Name == m.Who {
			return walker.phase != ended && (!m.Lose || walker.phase == acquiring)
		}
	}
	return m.Who == ""
}

// step lets a walker do its next step, and records the command and what it means.
func (w *World) step(ctx context.Context, walker *Walker) error {
	before, step := walker.phase, walker.next()
	answer, err := w.ask(ctx, walker, step)
	if err != nil {
		return err
	}
	w.record(w.event(walker, history.Command, fmt.Sprintf("%s → %s", step.Name, said(answer))))
	if err := walker.answered(step, answer); err != nil {
		return err
	}
	switch {
	case before == acquiring && walker.how == refused:
		w.record(w.event(walker, history.Refuse, ""))
	case before == acquiring && walker.phase != acquiring:
		w.record(w.event(walker, history.Grant, ""))
	case before == reading:
		w.value(walker, history.Read, walker.read)
	case before == writing:
		w.value(walker, history.Write, walker.wrote)
	case before == releasing && walker.phase == ended:
		w.record(w.event(walker, history.Released, ""))
	}
	return nil
}

// Loser is a server whose answers can really be lost.
type Loser interface {
	// LoseAnswer loses the answer to the next command: Do fails, and the server has done it.
	LoseAnswer()
}

// lose lets the server do a walker's next step, and tells nobody what it said.
func (w *World) lose(ctx context.Context, walker *Walker) error {
	step := walker.next()
	loser, really := w.server.(Loser)
	if really {
		loser.LoseAnswer()
	}
	answer, err := w.ask(ctx, walker, step)
	switch {
	case really && err == nil:
		return fmt.Errorf("%s: %s: the answer was to be lost, and came: %s", walker.Name, step.Name, said(answer))
	case !really && err != nil:
		return err
	}
	w.record(w.event(walker, history.Command, step.Name+" → the answer is lost"))
	w.record(w.event(walker, history.Refuse, "no answer"))
	walker.unanswered()
	return nil
}

// ask sends a step to the server.
func (w *World) ask(ctx context.Context, walker *Walker, step naive.Step) (any, error) {
	switch {
	case walker.at > 0:
	case walker.phase == acquiring:
		w.record(w.event(walker, history.Request, ""))
	case walker.phase == releasing:
		w.record(w.event(walker, history.Release, ""))
	}
	answer, err := w.server.Do(ctx, step.Command(&walker.Client)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", walker.Name, step.Name, err)
	}
	return answer, nil
}

func (w *World) event(walker *Walker, kind history.Kind, text string) history.Event {
	return history.Event{Timeline: walker.Name, Owner: walker.Name, Key: naive.Key, Kind: kind, Text: text}
}

func (w *World) value(walker *Walker, kind history.Kind, value int64) {
	w.record(history.Event{Timeline: walker.Name, Owner: walker.Name, Key: Counter, Kind: kind, Value: value})
}

// End records what the counter holds, and the lock if it is left: it is there, and nobody who lives has it.
func (w *World) End(ctx context.Context) error {
	answer, err := w.server.Do(ctx, "GET", Counter)
	if err != nil {
		return err
	}
	var n int64
	if text, ok := answer.(string); ok {
		if _, err := fmt.Sscan(text, &n); err != nil {
			return fmt.Errorf("the counter holds %q", text)
		}
	}
	w.record(history.Event{Timeline: "redis", Kind: history.Final, Key: Counter, Value: n})
	what, err := w.left(ctx)
	if what != "" {
		w.record(history.Event{Timeline: "redis", Kind: history.Left, Key: naive.Key, Text: what})
	}
	return err
}

// What End notes of a lock that is there although nobody has it: without an expiry, and with one.
const (
	Orphan = "the lock stays, and nobody has it"
	Behind = "the lock is there until its lease ends, and nobody has it"
)

func (w *World) left(ctx context.Context) (what string, err error) {
	for _, walker := range w.Walkers {
		if walker.phase != ended {
			return "", nil
		}
	}
	answer, err := w.server.Do(ctx, "PTTL", naive.Key)
	switch left, _ := answer.(int64); {
	case err != nil:
		return "", err
	case left == -1:
		return Orphan, nil
	case left > 0:
		return Behind, nil
	}
	return "", nil
}

// said is an answer as redis-cli shows it.
func said(answer any) string {
	switch a := answer.(type) {
	case nil:
		return "(nil)"
	case string:
		return a
	}
	return fmt.Sprint(answer)
}
