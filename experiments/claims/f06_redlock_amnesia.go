package claims

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:      "F06-redlock-amnesia",
	Article: "A2, A4",
	Claim: `
		A node that restarts empty lets a second majority form; one that restarts later than the longest lease does not.`,
	Says: `
		RedLock counts votes, and a node that has forgotten its vote gives it again. Its author's remedy is to leave a crashed node down until
		every lease has ended.`,
	Drawing: `
A        ├─ 1 2 3 of 5 ─ read 0 ──────────────────────── write 1
node 3   ───────────────── ✗ restarts, empty               ↑ one update is lost
B                            ├─ 3 4 5 of 5 ─ read 0 ─ write 1`,
	How: `
		A does not reach nodes 4 and 5, and holds the lock by 1, 2 and 3. Node 3 is killed and started again at the same address, and B asks all
		five. In the control it stays down until A's lease has ended, which A learns because no majority renews it. A single Redis has the same
		weakness. There A's proxy ends with the server's first life, because a holder that reconnects immediately asks for its lock, and stops.`,
	Anomaly: "restart with data loss",
	Takes:   7 * time.Second,
	Check:   history.Counter,
	Variants: []experiments.Variant{
		{Name: "restarted when the lease has ended", Fault: true, Run: restartLater},
		{Name: "restarted immediately", Expect: experiments.Sometimes, Strategy: "v4", Fault: true, Run: kit.OnDecidingNode(kit.Restart)},
		{
			Name: "one Redis, restarted immediately", Expect: experiments.Sometimes, Strategy: "v3", Fault: true,
			Run: kit.OnSingle(restartUnnoticed),
		},
	},
})

// restartUnnoticed restarts a node whose holder learns of it late.
func restartUnnoticed(ctx context.Context, t *experiments.Trial, n *stack.Node) {
	kit.EndProxy(t, n.Proxy)
	kit.Restart(ctx, t, n)
}

// restartLater lets A's lease end before the node votes again. A respects its lease: it writes while it is good.
func restartLater(ctx context.Context, t *experiments.Trial) {
	q := kit.StartQuorum(ctx, t, 5)
	a, b := q.NewClient(ctx, "A", time.Second, 4, 5), q.NewClient(ctx, "B", time.Second)
	r := kit.NewResource(t, false)
	first := a.Acquire(ctx)
	value := r.Read(first)
	kit.Kill(t, q.Nodes[2])
	second, err := b.TryAcquire(ctx, lockstrategy.TryOnce())
	switch {
	case err == nil:
		r.Add(second)
		_ = second.TryRelease(ctx)
	case !errors.Is(err, lockstrategy.ErrTaken):
		t.Must(err)
	}
	if first.Alive() {
		r.Write(first, value+1)
	}
	t.Must(first.AwaitLoss(ctx))
	kit.Restart(ctx, t, q.Nodes[2])
	b.Update(ctx, r)
}
