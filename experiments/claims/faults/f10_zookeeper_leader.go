package faults

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/history"
	"locklab/stack"
)

var F10 = experiments.Experiment{
	ID:       "F10-zookeeper-leader",
	Title:    "The leader of ZooKeeper is killed",
	Articles: experiments.Articles{"A3", "A4"},
	Claim:    "The lock in ZooKeeper survives the death of the leader with one holder at most, and the next leader grants it again.",
	Says: `
		A3 counts ZooKeeper among the CP stores, for locks that must not be granted twice. A4 names an earlier article of its author
		with it. They do not say for how long nobody is granted the lock after the leader's death.`,
	Elsewhere: `
		A majority of ZooKeeper's servers agrees on each change before the client is told
		(https://zookeeper.apache.org/doc/r3.8.0/zookeeperInternals.html).`,
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
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.ZooKeeper},
		Slow:   true,
		Takes:  30 * time.Second,
		Trials: 1, // each variant starts three servers, and waits for a real election
	},
	Check:    clients.Any(history.Counter, history.Exclusion),
	Variants: zooKeeperElects.Variants("v6"),
}

// A lease ends after half of the session's timeout without a confirmation.
var zooKeeperElects = failovers.Election[*stack.ZooKeeperNode]{
	Start: failovers.StartZooKeeper, Lease: 20 * time.Second, Probe: 20 * time.Second,
}
