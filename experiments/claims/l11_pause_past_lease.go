package claims

import (
	"context"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L11-pause-past-lease",
	Title:   "Pause past the lease",
	Article: "A0, A2",
	Claim: `
		A holder that is paused past its lease writes after its successor; a resource that checks the fencing token refuses that write.`,
	Says: `
		Renewal keeps the lock while the work goes on. The articles do not ask what happens when the holder itself stops. Then nothing
		renews the lease, and the holder does not know it.`,
	Lesson: experiments.Lesson{
		Question: `
			A client holds the lock. Its process stops for longer than the lease: a long garbage collection, a suspended laptop, a
			paused container. Meanwhile another client works. What happens when the first one continues?`,
		Predict: `
			Renewal is on. Is the write of the paused client (a) refused by the lock, (b) lost, (c) accepted although another client has
			held the lock since? Is it the same with etcd and ZooKeeper, where a majority of servers confirms each grant?`,
		Why: `
			(c), with every lock. A stopped process does not renew, so the server frees the key when the lease ends (in ZooKeeper, the
			session). B acquires it correctly. When A continues, it has already checked its lease and writes immediately. No check
			inside A can close this gap, because A can stop between the check and the write. A majority of servers agrees on the holder,
			and does not see the write.`,
		Fix: `
			Check the fencing token where the data is. Every grant has a larger token. The resource remembers the largest token that it has
			seen, at a read as well as at a write, and refuses smaller ones. From B's read on, A's writes are refused. A token of the
			Redis lock is the server's time in microseconds, or the last token plus one. A database row has the database's time. With
			ZooKeeper and etcd it is the number of the transaction that created the key, times 256, plus the hand-offs. RedLock and
			Memcached have no token, so v4 and v8 cannot do this.`,
		Limits: `
			A resource that checks the token only at the write has a gap. B reads 0, A writes 1 with its older token and is accepted, B
			writes 1, and one update is lost. The run pauses A at the worst moment on purpose. In production this is rare, and that is
			the problem. etcd and ZooKeeper run as one server: three of them change nothing here (F12).`,
		Next: `
			L05 (work longer than the lease), F11 (the holder is cut off instead of paused), L22-token-at-read (the token is checked at
			the write only). L23-dead-holder kills the holder, so that it never continues.`,
		Level: experiments.Medium,
		Start: true,
	},
	Drawing: `
A      ├─ lock, token 1 ─ read 0 ─ looks: good ─ ✗ paused ─────────────── resumed ─ write 1
server                              lease over ┆                                       ↑ late
B                                               ├─ lock, token 2 ─ read 0 ─ write 1 ┤`,
	How: `
		A is a process of its own. It checks its lease, and SIGSTOP stops it. B waits until the server frees the lock, reads and
		writes. A receives the command to write while it is stopped. When SIGCONT lets it run, its work writes without another check:
		every holder has a moment between its last check and its write. Its session notices the end of the lease at the same time, so
		either event may come first. The lease is half a second, or one second where the servers count whole seconds or sessions. The
		database is MariaDB, or a file of SQLite where there is no MariaDB. RedLock and Memcached issue no fencing token. In
		their second variants a resource that checks tokens accepts the late write. SET NX PX runs as steps: A writes after B has
		written.`,
	Anomaly: "pause",
	Takes:   40 * time.Second,
	Check:   kit.Any(history.Counter, history.Late),
	Variants: slices.Concat(
		[]experiments.Variant{{Name: "no pause", Run: kit.InProcess(kit.Holding{Strategy: lockstrategy.NameRedis}, unpaused)}},
		pausedSteps("SET NX PX", naive.Compare),
		pausedSteps("SET NX PX, DEL", naive.PlainDEL),
		pausedHolder("v3", lockstrategy.NameRedis, "", true),
		pausedHolder("v4", lockstrategy.NameRedLock, "RedLock, ", false),
		once(pausedHolder("v5", lockstrategy.NameDatabase, "database, ", true)),
		once(pausedHolder("v6", lockstrategy.NameZooKeeper, "ZooKeeper, ", true)),
		once(pausedHolder("v7", lockstrategy.NameEtcd, "etcd, ", true)),
		once(pausedHolder("v8", lockstrategy.NameMemcached, "Memcached, ", false)),
	),
})

// pausedHolder are a lock's two variants: without a token check, and with one. They are named after the lock.
func pausedHolder(version, strategy, name string, issuesTokens bool) []experiments.Variant {
	unchecked := experiments.Variant{
		Name: name + "paused", Expect: experiments.Sometimes, Strategy: version, Fault: true, Needs: kit.NeedsOf(strategy),
		Run: kit.InProcess(kit.Holding{Strategy: strategy}, kit.PausePastLease),
	}
	checked := unchecked
	checked.Name = name + "paused, no token to check"
	if issuesTokens {
		checked.Name, checked.Anomaly, checked.Expect = name+"paused, token checked", "pause with fencing token", experiments.Never
	}
	checked.Run = kit.InProcess(kit.Holding{Strategy: strategy, Checks: true}, kit.PausePastLease)
	return []experiments.Variant{unchecked, checked}
}

// pausedSteps is a lock whose holder is stopped between two of its steps. It has no lease to look at, and no token.
func pausedSteps(name string, lock naive.Lock) []experiments.Variant {
	return []experiments.Variant{{
		Name: name + ", paused", Expect: experiments.Sometimes, Strategy: name, Run: kit.Interleaving(lock, kit.ExpiredDuringWork),
	}}
}

// once are variants of one trial: their servers take seconds to start, or to free a key.
func once(variants []experiments.Variant) []experiments.Variant {
	for i := range variants {
		variants[i].Trials = 1
	}
	return variants
}

func unpaused(ctx context.Context, x *kit.HolderProcess) {
	x.Write(ctx, x.Resource.Read(x.Holder)+1)
	x.Release(ctx)
	x.B.Update(ctx, x.Resource)
}
