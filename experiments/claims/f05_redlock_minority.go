package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "F05-redlock-minority",
	Article: "A2, A4",
	Claim:   "RedLock works with two of five nodes down, and refuses with three down.",
	Says:    "A majority of the nodes is enough: N/2+1 of N. With fewer there is no lock, and who asked is told so.",
	How:     "A is connected to five nodes. Some of them, drawn by lot, are killed; A asks for the lock. When three were down one is started again, and A asks once more.",
	Takes:   4 * time.Second,
	Check:   available(5),
	Variants: []experiments.Variant{
		{Name: "none down", Run: down(0)},
		{Name: "one down", Fault: true, Run: down(1)},
		{Name: "two down", Fault: true, Run: down(2)},
		{Name: "three down: refused", Fault: true, Run: down(3)},
	},
})

// down kills n of five nodes before A asks.
func down(n int) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		q, err := startQuorum(ctx, t, 5)
		if err != nil {
			return err
		}
		a, err := q.comes(ctx, "A", lockstrategy.DefaultLease)
		if err != nil {
			return err
		}
		victims := t.Rand.Perm(len(q.nodes))[:n]
		for _, v := range victims {
			if err := kill(t, q.nodes[v]); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithTimeout(ctx, lockstrategy.DefaultLease)
		defer cancel()
		r := newResource(t, false)
		defer r.final()
		if err := once(ctx, a, r); err != nil || n <= 2 {
			return err
		}
		back := q.nodes[victims[0]]
		proof, err := t.Stack.Restart(ctx, back)
		if err != nil {
			return err
		}
		t.Record(history.Event{Timeline: back.Name, Kind: history.Heal, Text: "runs again", Proof: proof})
		return once(ctx, a, r)
	}
}
