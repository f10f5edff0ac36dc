package faults

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/history"
	"locklab/stack"
)

var F09 = experiments.Experiment{
	ID:       "F09-etcd-leader",
	Title:    "The leader of etcd is killed",
	Articles: experiments.Articles{"A3", "A4"},
	Claim: `
		The lock in etcd survives the death of the leader: there is one holder at most, and a new leader grants the lock again.`,
	Says: `
		A3 counts etcd among the CP stores, for locks that must not be granted twice. A4 links an article about a better lock than
		Redis. Its title ends in "etc" in the translation. We read etcd, which the sentence before names. They do not say for how long
		nobody is granted the lock after the leader's death.`,
	Elsewhere: `
		A majority of etcd's servers has each write before the client is told (https://etcd.io/docs/v3.4/learning/api_guarantees/).`,
	Lesson: experiments.Lesson{
		Question: `
			Three servers of etcd keep a lock. A holds it and B waits. The leader is killed. Does A keep its lock, and when is B granted it?`,
		Predict: `
			(a) A loses the lock, because its lease was counted by the leader. (b) A keeps it, and nobody is granted a lock until there is a new
			leader. (c) B is granted the lock by the new leader, while A still has it.`,
		Why: `
			(b). The leader answers only when a majority has a write. So the two others have A's key and B's, and one of them is elected. A
			lease's time is counted by the leader alone, and the new one begins to count again. So A's key ends later than A thinks, and never
			earlier. A client that reaches only the dead leader cannot renew. Its own clock ends its context before the servers delete its key.
			B is granted the lock after that. A holder that does not look at its context writes nevertheless.`,
		Fix: `
			Name all servers of the cluster to each client. Stop when the lease's context ends. Give the token to the resource, which refuses a
			holder that does not stop. The token is the revision of the holder's key, and every server agrees on it.`,
		Limits: `
			The servers are processes on one machine: their connections close immediately when one is killed. A client notices a server that hangs
			after twelve seconds. An election begins after half a second here, and after a second with etcd's own settings. The run measures one
			election each time. No server loses its disk. A leader that is paused and runs again is not tried.`,
		Next: "F02 (Sentinel loses the lock of a dead master), F11 (a holder that is cut off from Redis), L11 (a holder that pauses). " +
			"By hand: `app demo --versions v3,v7`.",
		Level: experiments.Advanced,
	},
	Drawing: `
A          ├─ lock ─ read 0 ─────────────────────── write 1 ─ release
leader     ─────────────── ✗ dies
the others ──────────────────┤ election ├─ one leads ─────────
B                waits …                                        ├─ lock ─ read 1 ─ write 2`,
	How: `
		A holds the lock and has read, and B waits. The leader is killed. A third client then asks for another lock: the run measures the
		time until it is granted. The client waits 200 ms for an answer, and then asks again. When the new leader grants again, A writes if
		its lease's context has not ended, and releases. In the other variants A knows the address of the leader only. B waits until A's key
		is deleted, and updates. Then A writes if its context has not ended, or without a look at it.`,
	Anomaly: "lost at failover",
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.Etcd},
		Slow:   true,
		Takes:  20 * time.Second,
		Trials: 1, // each variant starts three servers, and waits for a real election
	},
	Check:    clients.Any(history.Counter, history.Exclusion),
	Variants: etcdElects.Variants("v7"),
}

var etcdElects = failovers.Election[*stack.Member]{Start: failovers.StartEtcd, Lease: clients.LongLease, Probe: 600 * time.Millisecond}
