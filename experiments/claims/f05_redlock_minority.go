package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "F05-redlock-minority",
	Article: "A2, A4",
	Claim:   "RedLock works with two of five nodes down, and refuses with three down.",
	Says:    "A majority of the nodes is enough: N/2+1 of N. With fewer there is no lock, and the client is told so.",
	How: `
		A is connected to five nodes. Some of them, chosen at random, are killed; A requests the lock. When three were down one is started
		again, and A requests it once more.`,
	Takes: 4 * time.Second,
	Check: kit.Available(5),
	Variants: []experiments.Variant{
		{Name: "none down", Run: down(0)},
		{Name: "one down", Fault: true, Run: down(1)},
		{Name: "two down", Fault: true, Run: down(2)},
		{Name: "three down: refused", Fault: true, Run: down(3)},
	},
})

// down kills n of five nodes before A requests the lock.
func down(n int) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		q := kit.StartQuorum(ctx, t, 5)
		a := q.NewClient(ctx, "A", lockstrategy.DefaultLease)
		victims := t.Rand.Perm(len(q.Nodes))[:n]
		for _, v := range victims {
			kit.Kill(t, q.Nodes[v])
		}
		ctx, cancel := context.WithTimeout(ctx, lockstrategy.DefaultLease)
		defer cancel()
		r := kit.NewResource(t, false)
		kit.TryUpdate(ctx, a, r)
		if n <= 2 {
			return
		}
		back := q.Nodes[victims[0]]
		proof, err := t.Stack.Restart(ctx, back)
		t.Must(err)
		t.Record(history.Event{Timeline: back.Name, Kind: history.Heal, Text: "runs again", Proof: proof})
		kit.TryUpdate(ctx, a, r)
	}
}
