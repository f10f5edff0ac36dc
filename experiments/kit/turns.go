package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/cache"
	"locklab/experiments"
	"locklab/experiments/worker"
	"locklab/history"
)

// Actor is a client of a cache that does one step at a time: one command to Redis, or one statement to the database.
type Actor struct {
	Name string

	worker.EachCommand
	t     *experiments.Trial
	trial context.Context // ends with the trial; the context of a step may not
	wants chan struct{}   // it has arrived at its next step
	turn  chan struct{}   // it may do it
	ended chan struct{}
}

// NewActor returns an actor that does nothing yet.
func NewActor(t *experiments.Trial, name string) *Actor {
	return &Actor{Name: name, t: t, wants: make(chan struct{}), turn: make(chan struct{}), ended: make(chan struct{})}
}

// Begin lets the actor act until its first step, which waits for Move.
func (a *Actor) Begin(ctx context.Context, act func()) {
	a.trial = ctx
	a.t.Go(func() {
		defer close(a.ended)
		act()
	})
	a.await(ctx)
}

// Move lets the actor do its next step, and returns when it has done it. After its last step it does nothing, and returns false.
func (a *Actor) Move(ctx context.Context) bool {
	select {
	case a.turn <- struct{}{}:
		a.await(ctx)
		return true
	case <-a.ended:
		return false
	case <-ctx.Done():
		a.t.Must(ctx.Err())
		return false
	}
}

func (a *Actor) await(ctx context.Context) {
	select {
	case <-a.wants:
	case <-a.ended:
	case <-ctx.Done():
		a.t.Must(fmt.Errorf("%s does not come to its next step: %w", a.Name, ctx.Err()))
	}
}

// step waits for the actor's turn, and records what it has done.
func (a *Actor) step(do func() history.Event) error {
	select {
	case a.wants <- struct{}{}:
	case <-a.trial.Done():
		return a.trial.Err()
	}
	select {
	case <-a.turn:
	case <-a.trial.Done():
		return a.trial.Err()
	}
	e := do()
	e.Timeline = a.Name
	a.t.Record(e)
	return nil
}

// Reader is a reader as a step.
func (a *Actor) Reader(of cache.Reader) cache.Reader { return actorReader{a, of} }

type actorReader struct {
	*Actor
	of cache.Reader
}

func (r actorReader) Get(ctx context.Context, id uint64) (item cache.Item, err error) {
	waited := r.step(func() history.Event {
		item, err = r.of.Get(ctx, id)
		return history.Event{Kind: history.Command, Text: fmt.Sprintf("SELECT: version %d", item.Version)}
	})
	return item, cmp.Or(waited, err)
}

// Writer is a writer as a step. It records the version that the database has confirmed.
func (a *Actor) Writer(of cache.Writer) cache.Writer { return actorWriter{a, of} }

type actorWriter struct {
	*Actor
	of cache.Writer
}

func (w actorWriter) Put(ctx context.Context, id uint64, text string) (item cache.Item, err error) {
	waited := w.step(func() history.Event {
		item, err = w.of.Put(ctx, id, text)
		return history.Event{Kind: history.Write, Key: itemKey(id), Value: item.Version}
	})
	return item, cmp.Or(waited, err)
}

// ProcessHook implements [redis.Hook]: each command of a cache is a step. Those with which a connection begins are none.
func (a *Actor) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) (err error) {
		if !slices.Contains([]string{"get", "set", "del"}, cmd.Name()) {
			return next(ctx, cmd)
		}
		waited := a.step(func() history.Event {
			text := strings.ToUpper(cmd.Name())
			if err = next(ctx, cmd); errors.Is(err, redis.Nil) {
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
}

// Play lets actors do one interleaving of their steps, as a list of their names, and then what is left of each. An actor that has ended
// is left out. At each "?" between is called.
func Play(ctx context.Context, interleaving string, between func(), actors ...*Actor) {
	for _, name := range strings.Fields(interleaving) {
		if i := slices.IndexFunc(actors, func(a *Actor) bool { return a.Name == name }); i >= 0 {
			actors[i].Move(ctx)
		} else if name == "?" {
			between()
		}
	}
	for _, a := range actors {
		for a.Move(ctx) {
			continue
		}
	}
}

// Interleavings are all those of so many steps of A and so many of B.
func Interleavings(a string, ofA int, b string, ofB int) (all []string) {
	if ofA == 0 && ofB == 0 {
		return []string{""}
	}
	if ofA > 0 {
		for _, rest := range Interleavings(a, ofA-1, b, ofB) {
			all = append(all, strings.TrimSpace(a+" "+rest))
		}
	}
	if ofB > 0 {
		for _, rest := range Interleavings(a, ofA, b, ofB-1) {
			all = append(all, strings.TrimSpace(b+" "+rest))
		}
	}
	return all
}
