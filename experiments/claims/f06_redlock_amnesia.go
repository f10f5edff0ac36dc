package claims

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:      "F06-redlock-amnesia",
	Article: "A2, A4",
	Claim:   "A node that restarts empty lets a second majority form; one that restarts later than the longest lease does not.",
	Says:    "RedLock counts votes, and a node that has forgotten its vote gives it again. Its author's remedy is to leave a crashed node down until every lease has ended.",
	Drawing: `
A        ├─ 1 2 3 of 5 ─ read 0 ──────────────────────── write 1
node 3   ───────────────── ✗ restarts, empty               ↑ one update is lost
B                            ├─ 3 4 5 of 5 ─ read 0 ─ write 1`,
	How:     "A does not reach nodes 4 and 5, and has the lock by 1, 2 and 3. Node 3 is killed and started again at the same address, and B asks all five. In the control it stays down until A's lease has ended, which A learns because no majority renews it. A single Redis has the same weakness; there A's line to it ends with its first life, because a holder that reconnects at once asks for its lock, and stops.",
	Anomaly: "amnesiac restart",
	Takes:   7 * time.Second,
	Check:   history.Counter,
	Variants: []experiments.Variant{
		{Name: "restarted when the lease has ended", Fault: true, Run: restartLater},
		{Name: "restarted at once", Expect: experiments.Sometimes, Strategy: "v4", Fault: true, Run: onThree(restart)},
		{Name: "one Redis, restarted at once", Expect: experiments.Sometimes, Strategy: "v3", Fault: true, Run: onSingle(restartUnheard)},
	},
})

// restartUnheard restarts a node whose holder is late to hear of it.
func restartUnheard(ctx context.Context, t *experiments.Trial, n *stack.Node) error {
	if err := end(t, n.Proxy); err != nil {
		return err
	}
	return restart(ctx, t, n)
}

// restartLater lets A's lease end before the node votes again. A honours its lease: it writes while it is good.
func restartLater(ctx context.Context, t *experiments.Trial) error {
	q, err := startQuorum(ctx, t, 5)
	if err != nil {
		return err
	}
	a, err := q.comes(ctx, "A", time.Second, 4, 5)
	if err != nil {
		return err
	}
	b, err := q.comes(ctx, "B", time.Second)
	if err != nil {
		return err
	}
	r := newResource(t, false)
	defer r.final()
	first, err := a.acquire(ctx)
	if err != nil {
		return err
	}
	value := r.read(first)
	if err := kill(t, q.nodes[2]); err != nil {
		return err
	}
	second, err := b.acquire(ctx, lockstrategy.TryOnce())
	switch {
	case err == nil:
		r.add(second)
		_ = second.release(ctx)
	case !errors.Is(err, lockstrategy.ErrTaken):
		return err
	}
	if first.alive() {
		r.write(first, value+1)
	}
	if err := first.lost(ctx); err != nil {
		return err
	}
	if err := restart(ctx, t, q.nodes[2]); err != nil {
		return err
	}
	return last(ctx, r, b)
}
