package claims

import (
	"context"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

const (
	// stepLease is that of clients that are to come to the end of their lease: it is waited for.
	stepLease = 50 * time.Millisecond
	// longLease is that of everybody else, and of what must not end while an experiment runs, on a busy machine, too.
	longLease = time.Minute
)

// walk moves the clients of a lock on a Redis of its own, in one order. A move of a client that has come to its end is
// left out: so one order serves a lock that lets a client in and one that refuses it.
func walk(lock naive.Lock, order string) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		_, redis, err := single(ctx, t)
		if err != nil {
			return err
		}
		return walkOn(ctx, t, steps.Client{UniversalClient: redis}, lock, order)
	}
}

func walkOn(ctx context.Context, t *experiments.Trial, server steps.Server, lock naive.Lock, order string) error {
	moves := steps.Moves(order)
	w := steps.New(lock, server, longLease, steps.Names(moves), t.Record)
	for _, walker := range w.Walkers {
		if passes(moves, walker.Name) {
			walker.Lease = stepLease
		}
	}
	for _, m := range moves {
		if !w.Can(m) {
			continue
		}
		if err := w.Move(ctx, m); err != nil {
			return err
		}
	}
	return w.End(ctx)
}

// passes reports whether time passes in moves after the first move of a client.
func passes(moves []steps.Move, name string) bool {
	begins := slices.IndexFunc(moves, func(m steps.Move) bool { return m.Who == name })
	return slices.Contains(moves[begins:], steps.Move{})
}
