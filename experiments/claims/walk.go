package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/history"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

// stepLease is that of the locks whose clients are moved step by step: when time is to pass, it is waited for.
const stepLease = 50 * time.Millisecond

// walk moves the clients of a lock on a Redis of its own, in one order. A move of a client that has come to its end is
// left out: so one order serves a lock that lets a client in and one that refuses it.
func walk(lock naive.Lock, order string) func(context.Context, *experiments.Trial) error {
	moves := steps.Moves(order)
	return func(ctx context.Context, t *experiments.Trial) error {
		_, redis, err := single(ctx, t)
		if err != nil {
			return err
		}
		w := steps.New(lock, steps.Client{UniversalClient: redis}, stepLease, steps.Names(moves), func(e history.Event) { t.Record(e) })
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
}
