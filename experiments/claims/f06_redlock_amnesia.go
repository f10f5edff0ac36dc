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
	Title:   "RedLock: a node restarts with data loss",
	Article: "A2, A4",
	Claim:   "In RedLock a node that restarts empty lets a second majority form; one that stays down for the longest lease does not.",
	Says: `
		The articles count the votes of the nodes, and do not say what happens to a vote when its node restarts. A node that has
		forgotten its vote gives it again. RedLock's author advises to leave a crashed node down until every lease has ended.`,
	Lesson: experiments.Lesson{
		Question: `
			A client holds a RedLock on nodes 1, 2 and 3 of five. Node 3 crashes and restarts immediately, without its data. Another
			client asks all five nodes for the lock. Is it refused?`,
		Predict: `
			(a) Yes: the first client has a majority. (b) Yes: a node that restarts does not vote for a while. (c) No: nodes 3, 4 and 5
			are a majority as well.`,
		Why: `
			Two majorities of five nodes share at least one node, and that node has to refuse the second client. Node 3 is the shared
			one. Its vote was only in its memory, so after the restart it votes for B. B has nodes 3, 4 and 5, A counts on 1, 2 and 3,
			and both write. A node that stays down until A's lease has ended does no harm, because A has stopped by then. A single Redis
			that restarts empty has the same weakness. ZooKeeper and etcd write each grant to the disk before they answer, so a restart
			takes no lock away.`,
		Fix: `
			Start a crashed node again only when the longest lease has ended. Or let each node write every vote to its disk before it
			answers (appendfsync always), which costs time.`,
		Limits: `
			Of RedLock's two fixes the run tries the delayed restart. The delay is the operator's work: Redis has no setting for it.
			Meanwhile the lock survives one failure less. A client that holds the lock by more than three nodes keeps a majority when
			one of them restarts. A server of ZooKeeper or etcd that loses its disk is not tried.`,
		Next:  "F07 (a clock makes a node forget), F08 (one node counts twice), F05 (nodes that are down).",
		Level: experiments.Advanced,
	},
	Drawing: `
A        ├─ 1 2 3 of 5 ─ read 0 ──────────────────────── write 1
node 3   ───────────────── ✗ restarts, empty               ↑ one update is lost
B                            ├─ 3 4 5 of 5 ─ read 0 ─ write 1`,
	How: `
		A does not reach nodes 4 and 5, and holds the lock by 1, 2 and 3. Node 3 is killed and started again at the same address, and B asks
		all five. In the control it stays down until A's lease has ended, which A learns because no majority renews it. A single Redis has
		the same weakness. There A cannot reconnect after the restart. A holder that reconnects would notice the loss, and stop. The naive
		locks of the articles run on one Redis as well. One server of ZooKeeper, and one of etcd, is killed and started again with its disk.`,
	Anomaly: "restart with data loss",
	Takes:   14 * time.Second,
	Check:   history.Counter,
	Variants: []experiments.Variant{
		{Name: "restarted when the lease has ended", Fault: true, Run: restartLater},
		{Name: "restarted immediately", Expect: experiments.Sometimes, Strategy: "v4", Fault: true, Run: kit.OnDecidingNode(kit.Restart)},
		{
			Name: "one Redis, restarted immediately", Expect: experiments.Sometimes, Strategy: "v3", Fault: true,
			Trials: 1, Run: kit.OnSingle(restartUnnoticed),
		},
		kit.NaiveVariant("one Redis, restarted immediately", "naive SETNX", kit.OverrunAfter(kit.Restart)),
		kit.NaiveVariant("one Redis, restarted immediately", "SET NX PX", kit.OverrunAfter(kit.Restart)),
		kit.NaiveVariant("one Redis, restarted immediately", "SET NX PX, DEL", kit.OverrunAfter(kit.Restart)),
		{
			Name: "ZooKeeper, restarted immediately, with its disk", Fault: true, Trials: 1, Needs: kit.NeedsOf(lockstrategy.NameZooKeeper),
			Run: restartZooKeeper,
		},
		{
			Name: "etcd, restarted immediately, with its disk", Fault: true, Trials: 1, Needs: kit.NeedsOf(lockstrategy.NameEtcd),
			Run: restartEtcd,
		},
	},
})

// restartUnnoticed restarts a node whose holder learns of it late.
func restartUnnoticed(ctx context.Context, t *experiments.Trial, n *stack.Node) {
	kit.EndProxy(t, n.Proxy)
	kit.Restart(ctx, t, n)
}

func restartZooKeeper(ctx context.Context, t *experiments.Trial) {
	nodes, err := t.Stack.ZooKeeper(ctx, 1)
	t.Must(err)
	x := &kit.ZooKeeper{Trial: t, Nodes: nodes}
	besideRestart(ctx, t, func(name string) *kit.Client { return x.NewClient(name, kit.LongLease, nodes...) }, func() {
		proof, err := nodes[0].Restart(ctx)
		t.Must(err)
		t.Fault(nodes[0].Name, "killed and restarted, with its disk", proof)
	})
}

func restartEtcd(ctx context.Context, t *experiments.Trial) {
	cluster, err := t.Stack.Etcd(ctx, 1)
	t.Must(err)
	x, m := &kit.Etcd{Trial: t, Members: cluster.Members}, cluster.Members[0]
	besideRestart(ctx, t, func(name string) *kit.Client { return x.NewClient(ctx, name, kit.LongLease, m) }, func() {
		m.Kill()
		proof, err := m.Ended()
		t.Must(err)
		t.Must(m.Restart(ctx))
		t.Fault(m.Name, "killed and restarted, with its disk", proof)
	})
}

// besideRestart lets B request the lock that A holds, after the only server was restarted.
func besideRestart(ctx context.Context, t *experiments.Trial, client func(name string) *kit.Client, restart func()) {
	s := kit.NewSuccession(t)
	s.Come(ctx, client("A"))
	restart()
	s.Come(ctx, client("B"))
	kit.MustRefuse(t, "B")
	s.Finish(ctx)
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
