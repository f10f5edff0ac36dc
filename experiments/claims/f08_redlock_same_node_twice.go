package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "F08-redlock-same-node-twice",
	Article: "A2",
	Claim:   "A2's RedLock names one node twice: three names, two nodes. Without that node there is no majority, and alone it is one.",
	Says:    "RedLock over three locks, which are to lie on three nodes: one may fail.",
	Erratum: "A2's listing passes node 2 twice (red1, red2, red2). Losing it alone loses the quorum, and it alone is one.",
	Drawing: `
names   red1   red2   red2
A       node 1 node 2 node 2     ├─ read 0 ───────────────────── write 1
node 2                ✗ restarts, empty                            ↑ one update is lost
B              node 2 node 2       ├─ two of three ─ read 0 ─ write 1`,
	How:   "The lock on each name is Redisson's, as in the listing: who has it enters again, so node 2 counts twice. (Ours, redsync's, is not re-entrant, and would count it once.) The same node is lost, or restarts empty, once in three names for three nodes and once in A2's list. Lost: A asks once. Empty: A has the lock on all names, and B asks.",
	Takes: 4 * time.Second,
	Check: func(events []history.Event) []history.Violation {
		return append(available(3)(events), history.Counter(events)...)
	},
	Variants: []experiments.Variant{
		{Name: "three nodes, node 2 lost", Fault: true, Run: lostOf(1, 2, 3)},
		{Name: "three nodes, node 2 restarts empty", Fault: true, Run: emptyOf(1, 2, 3)},
		{Name: "A2's list, node 2 lost", Expect: experiments.Sometimes, Fault: true, Run: lostOf(1, 2, 2)},
		{Name: "A2's list, node 2 restarts empty", Expect: experiments.Sometimes, Fault: true, Run: emptyOf(1, 2, 2)},
	},
})

// lostOf kills node 2, and A asks the nodes in the list.
func lostOf(list ...int) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		q, err := startQuorum(ctx, t, 3)
		if err != nil {
			return err
		}
		a, err := q.named(ctx, "A", list)
		if err != nil {
			return err
		}
		if err := kill(t, q.nodes[1]); err != nil {
			return err
		}
		r := newResource(t, false)
		defer r.final()
		return once(ctx, a, r)
	}
}

// emptyOf restarts node 2 while A has the lock.
func emptyOf(list ...int) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		q, err := startQuorum(ctx, t, 3)
		if err != nil {
			return err
		}
		return contest(ctx, t,
			func(ctx context.Context) (*client, error) { return q.named(ctx, "A", list) },
			func(ctx context.Context) (*client, error) {
				if err := restart(ctx, t, q.nodes[1]); err != nil {
					return nil, err
				}
				return q.named(ctx, "B", list)
			},
		)
	}
}
