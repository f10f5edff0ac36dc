package steps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments/history"
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
		w.record(history.Event{Lane: "time", Kind: history.Note, Text: "passes, until every expiry is over"})
		return w.server.Pass(ctx)
	}
	for _, walker := range w.Walkers {
		if walker.Name != m.Who {
			continue
		}
		if how, over := walker.Ended(); over {
			return fmt.Errorf("%s cannot move: it is %s", m.Who, how)
		}
		if m.Die {
			walker.die()
			w.record(w.event(walker, history.Die, ""))
			return nil
		}
		return w.step(ctx, walker)
	}
	return fmt.Errorf("there is no client %s", m.Who)
}

// Can reports whether m is possible: time can always pass, and a client move until it has come to its end.
func (w *World) Can(m Move) bool {
	for _, walker := range w.Walkers {
		if walker.Name == m.Who {
			return walker.phase != ended
		}
	}
	return m.Who == ""
}

// step lets a walker do its next step, and records the command and what it means.
func (w *World) step(ctx context.Context, walker *Walker) error {
	before, step := walker.phase, walker.next()
	if before == acquiring && walker.at == 0 {
		w.record(w.event(walker, history.Ask, ""))
	}
	if before == releasing && walker.at == 0 {
		w.record(w.event(walker, history.Give, ""))
	}
	command := step.Command(&walker.Client)
	answer, err := w.server.Do(ctx, command...)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", walker.Name, step.Name, err)
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
		w.record(w.event(walker, history.Gave, ""))
	}
	return nil
}

func (w *World) event(walker *Walker, kind history.Kind, text string) history.Event {
	return history.Event{Lane: walker.Name, Owner: walker.Name, Key: naive.Key, Kind: kind, Text: text}
}

func (w *World) value(walker *Walker, kind history.Kind, value int64) {
	w.record(history.Event{Lane: walker.Name, Owner: walker.Name, Key: Counter, Kind: kind, Value: value})
}

// End records what the counter holds, and the lock if it stays for ever: it is there, without an expiry, and nobody who
// lives has it.
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
	w.record(history.Event{Lane: "redis", Kind: history.Final, Key: Counter, Value: n})
	stays, err := w.orphan(ctx)
	if stays {
		w.record(history.Event{Lane: "redis", Kind: history.Note, Key: naive.Key, Text: Orphan})
	}
	return err
}

// Orphan is what End notes of a lock that stays.
const Orphan = "the lock stays, and nobody has it"

func (w *World) orphan(ctx context.Context) (bool, error) {
	for _, walker := range w.Walkers {
		if walker.phase != ended {
			return false, nil
		}
	}
	answer, err := w.server.Do(ctx, "PTTL", naive.Key)
	left, _ := answer.(int64)
	return left == -1, err
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

// Client is a server that go-redis reaches. Its time passes by itself.
type Client struct{ redis.UniversalClient }

// Do sends one command.
func (c Client) Do(ctx context.Context, command ...any) (any, error) {
	answer, err := c.UniversalClient.Do(ctx, command...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return answer, err
}

// Pass waits until the lock is gone, or has no expiry.
func (c Client) Pass(ctx context.Context) error {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		left, err := c.PTTL(ctx, naive.Key).Result()
		if err != nil || left < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}
