package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

var L01 = experiments.Experiment{
	ID:       "L01-no-expiry",
	Articles: experiments.Articles{"A0", "A1", "A2", "A3"},
	Claim:    "A holder that dies leaves the key locked: for ever without an expiry, and until its lease ends with one.",
	Says: `
		A0 and A2 begin with SETNX and DEL: a process that fails in the middle of the work never sends the DEL. A1 has a lease against that.
		A3 begins with SET NX EX, and says that its expiry is against deadlocks.`,
	Lesson: experiments.Lesson{
		Question: `
			A client takes the lock by SETNX, which sets a key only if it does not exist. Then its process dies, before the DEL that releases the
			lock. When can another client take the lock?`,
		Predict: `
			(a) When the connection of the dead client closes. (b) After a timeout of Redis. (c) Never, until a person deletes the key.`,
		Why: `
			(c). For Redis the lock is a key like any other: it does not belong to a client, and no closed connection deletes it. Without an
			expiry it stays until it is deleted. With an expiry Redis deletes it when the lease ends. Then a crash costs the other clients one
			lease at most.`,
		Fix: `
			Set the expiry in the command that takes the lock: SET with NX and PX. v3 does it in its script. Choose a lease that you can wait for
			after a crash, and renew it while the holder lives (L05).`,
		Limits: `
			An expiry opens the next gap. A holder that is alive but slow loses its lock (L05), and may then delete its successor's (L03). Redis
			does not fail here, and evicts nothing (L13).`,
		Next: "L02-setnx-then-expire sets the expiry by a second command. L06-watchdog-ends kills a holder whose lease is renewed. In " +
			"`app lab step L01` you let A die where you like, and `app lab explore L01` tries every moment.",
		Level: experiments.Basic,
		Start: true,
	},
	Drawing: `
A  SETNX → 1  †
B                    (a lease later)  SETNX → 0   and so for every client, for ever`,
	How: `
		A takes the lock and dies before it has read. Time passes until every expiry is over, and B tries. The trial has a violation if the
		lock still exists, has no expiry, and no living client holds it.`,
	Anomaly:       "orphaned lock",
	Schedule:      experiments.Schedule{Takes: 3 * time.Second},
	Check:         clients.Noted(steps.OrphanedLock.Mark()),
	Interleavings: clients.OrphanedLocks(naive.Compare, steps.V3, naive.SETNX),
	Variants: []experiments.Variant{
		{Name: "with an expiry", Strategy: "SET NX PX", Run: clients.Interleaving(naive.Compare, clients.DeadHolder)},
		{Name: "with an expiry, DEL", Strategy: "SET NX PX, DEL", Run: clients.Interleaving(naive.PlainDEL, clients.DeadHolder)},
		{Name: "v3's scripts", Strategy: "v3", Run: clients.Interleaving(steps.V3, clients.DeadHolder)},
		{Name: "SETNX alone", Expect: experiments.Sometimes, Strategy: "naive SETNX", Run: clients.Interleaving(naive.SETNX, clients.DeadHolder)},
	},
}
