package caches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/systems/cache"
)

// actor is a client of a cache that does one step at a time: one command to Redis, or one statement to the database.
type actor struct {
	*explore.Actor
	t *lab.Trial
}

// record waits for the actor's turn, and records what it has done.
func (a *actor) record(do func() history.Event) error {
	return a.Step(func() {
		e := do()
		e.Timeline = a.Name
		a.t.Record(e)
	})
}

// reader is a reader as a step.
func (a *actor) reader(of cache.Reader) cache.Reader { return actorReader{a, of} }

type actorReader struct {
	*actor
	of cache.Reader
}

func (r actorReader) Get(ctx context.Context, id uint64) (item cache.Item, err error) {
	waited := r.record(func() history.Event {
		item, err = r.of.Get(ctx, id)
		return history.Event{Kind: history.Command, Name: history.Load, Text: fmt.Sprintf("SELECT: version %d", item.Version)}
	})
	return item, cmp.Or(waited, err)
}

// writer is a writer as a step. It records the version that the database has confirmed.
func (a *actor) writer(of cache.Writer) cache.Writer { return actorWriter{a, of} }

type actorWriter struct {
	*actor
	of cache.Writer
}

func (w actorWriter) Put(ctx context.Context, id uint64, text string) (item cache.Item, err error) {
	waited := w.record(func() history.Event {
		item, err = w.of.Put(ctx, id, text)
		return history.Event{Kind: history.Write, Key: services.ItemKey(id), Value: item.Version}
	})
	return item, cmp.Or(waited, err)
}

// command is a [clients.EachCommand]: each command of a cache is a step. Those with which a connection begins are none.
func (a *actor) command(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) (err error) {
	if !slices.Contains([]string{"get", "set", "del"}, cmd.Name()) {
		return send(ctx, cmd)
	}
	waited := a.record(func() history.Event {
		text := strings.ToUpper(cmd.Name())
		if err = send(ctx, cmd); errors.Is(err, redis.Nil) {
			text += ": nothing"
		}
		return history.Event{Kind: history.Command, Text: text}
	})
	if waited != nil {
		cmd.SetErr(waited)
		return waited
	}
	return err
}
