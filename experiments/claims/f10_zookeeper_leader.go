package claims

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "F10-zookeeper-leader",
	Title:   "The leader of ZooKeeper is killed",
	Article: "A3, A4",
	Claim:   "The lock in ZooKeeper survives the death of the leader with one holder at most, and the next leader grants it again.",
	Says: `
		ZooKeeper is a CP store: a majority of its servers agrees on each change, so a lock is not lost when one server dies. The articles
		do not say for how long nobody is granted the lock then.`,
	Lesson: experiments.Lesson{
		Question: `
			Three servers of ZooKeeper keep a lock. A holds it and B waits. The leader is killed. Does A keep its lock, and is B granted it
			too early?`,
		Predict: `
			(a) A loses the lock, because its session was with the leader. (b) A keeps it, and nobody is granted a lock until the election is
			over. (c) Both hold it until the servers have agreed.`,
		Why: `
			(b). Two of three servers are a majority. They have A's node and B's, because the leader has confirmed nothing that a majority did
			not have. They elect a new leader, and the clients connect again with the same sessions. Until then nothing is granted and nothing is
			renewed. A client that reaches no living server stops after half of its session timeout. The servers end its session after the whole
			timeout, and the new leader counts from its election. So A has stopped when B is granted the lock.`,
		Fix: `
			Name all servers of the ensemble to each client. Choose a session timeout of more than twice the time of an election. Stop when the
			lease's context ends, and check the fencing token at the resource for a holder that does not.`,
		Limits: `
			The servers are processes on one machine: their connections close immediately when one is killed. A leader that hangs, or is cut
			off, is missed after a second here, and after ten with usual settings. Each variant measures one election. No server loses its disk.`,
		Next: "F02 (Sentinel loses the lock of a dead master), F11 (a holder that is cut off from Redis), L11 (a holder that pauses). " +
			"By hand: `app demo --versions v3,v6`.",
		Level: experiments.Advanced,
	},
	Drawing: `
A          ├─ lock ─ read 0 ────────────────────── write 1 ─ release
leader     ─────────────── ✗ dies
the others ──────────────────┤ election ├─ lead ──────────────
B                waits …                                       ├─ lock ─ read 1 ─ write 2`,
	How: `
		A holds the lock and has read, and B waits. The leader is killed. A third client then asks for another lock: the run measures
		the time until it is granted. When the new leader grants again, A writes if its
		lease's context has not ended, and releases. In the other variants A knows the address of the leader only. B waits until A's
		session has ended, and updates. Then A writes if its context has not ended, or without a look at it.`,
	Anomaly: "lost at failover",
	Needs:   []experiments.Need{experiments.ZooKeeper},
	Slow:    true,
	Takes:   60 * time.Second,
	Trials:  1, // each variant starts three servers, and waits for a real election
	Check:   kit.Any(history.Counter, history.Exclusion),
	Variants: []experiments.Variant{
		{Name: "no kill", Run: leaderLives},
		{Name: "leader killed, A reaches the others", Strategy: "v6", Fault: true, Run: leaderDies},
		{Name: "leader killed, A reaches none", Fault: true, Run: holderAlone(true, false)},
		{
			Name: "leader killed, A reaches none and does not look", Expect: experiments.Sometimes, Fault: true,
			Run: holderAlone(false, false),
		},
		{Name: "A does not look, the token is checked", Fault: true, Run: holderAlone(false, true)},
	},
})

// The session timeouts. A lease ends after half of that without a confirmation.
const (
	throughElection = 20 * time.Second
	endsSoon        = 3 * time.Second
)

func leaderLives(ctx context.Context, t *experiments.Trial) {
	x, r := kit.StartZooKeeper(ctx, t), kit.NewResource(t, false)
	h := x.NewClient("A", throughElection, x.Nodes...).Acquire(ctx)
	value := r.Read(h)
	waitForB := waiterInZooKeeper(ctx, x, r)
	r.Write(h, value+1)
	h.Release(ctx)
	waitForB()
}

func leaderDies(ctx context.Context, t *experiments.Trial) {
	x, r := kit.StartZooKeeper(ctx, t), kit.NewResource(t, false)
	h := x.NewClient("A", throughElection, x.Nodes...).Acquire(ctx)
	value := r.Read(h)
	waitForB := waiterInZooKeeper(ctx, x, r)
	killZooKeeperLeader(ctx, x)
	if !h.Alive() {
		t.Must(errors.New("the election took longer than A's lease: nothing is shown"))
	}
	r.Write(h, value+1)
	h.Release(ctx)
	waitForB()
}

// holderAlone kills the only server that A knows. A looks at its lease before it writes, or does not.
func holderAlone(looks, checks bool) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		x, r := kit.StartZooKeeper(ctx, t), kit.NewResource(t, checks)
		h := x.NewClient("A", endsSoon, x.Leader).Acquire(ctx)
		value := r.Read(h)
		h.Watch(ctx)
		waitForB := waiterInZooKeeper(ctx, x, r)
		killed := killZooKeeperLeader(ctx, x)
		waitForB()
		t.Measure("B", time.Since(killed).Milliseconds(), "ms from the leader's death until B has updated, which A's session delays")
		if !looks || h.Lease.Context().Err() == nil {
			r.Write(h, value+1)
		}
		t.Must(h.AwaitLoss(ctx))
	}
}

// waiterInZooKeeper lets B wait for the lock, and update when it is granted. It returns when B is in the queue.
func waiterInZooKeeper(ctx context.Context, x *kit.ZooKeeper, r *kit.Resource) (waitForB func()) {
	waitForB = kit.UpdateAfterElection(ctx, x.Trial, x.NewClient("B", throughElection, x.Nodes...), r)
	x.AwaitQueue(ctx, 2)
	return waitForB
}

// killZooKeeperLeader kills the leader, and measures when a client is granted a lock that nobody holds.
func killZooKeeperLeader(ctx context.Context, x *kit.ZooKeeper) (killed time.Time) {
	killed = kit.KillAndMeasure(ctx, x.Trial, x.NewClient("probe", throughElection, x.Nodes...), x.KillLeader)
	x.FindLeader(ctx)
	return killed
}
