package anatomy

import (
	"context"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

var L11 = experiments.Experiment{
	ID:       "L11-pause-past-lease",
	Title:    "Pause past the lease",
	Articles: experiments.Articles{"A0", "A2"},
	Claim: `
		A holder that is paused past its lease writes after its successor; a resource that checks the fencing token refuses that write.`,
	Says: `
		Renewal keeps the lock while the work goes on. The articles do not ask what happens when the holder itself stops.`,
	Lesson: experiments.Lesson{
		Question: `
			A client holds the lock. Its process stops for longer than the lease: a long garbage collection, a suspended laptop, a
			paused container. Meanwhile another client works. What happens when the first one continues?`,
		Predict: `
			A holds a lock that is renewed, and has read the counter. Its process stops for longer than the lease. B locks, reads, writes
			and unlocks meanwhile. Then A continues, and writes. Is A's write (a) refused by the lock, (b) accepted, and B's update is
			kept as well, (c) accepted, and B's update is lost? Is it the same with etcd and ZooKeeper, where a majority of servers
			confirms each grant?`,
		Why: `
			(c), with every lock. A stopped process does not renew, so the server frees the key when the lease ends (in ZooKeeper, the
			session). B acquires it correctly. When A continues, it has already checked its lease and writes immediately. No check
			inside A can close this gap, because A can stop between the check and the write. A majority of servers agrees on the holder,
			and does not see the write.`,
		Fix: `
			Check the fencing token where the data is. Every grant has a larger token. At a read the resource registers the token, if it is
			newer than the last one of that lock. It refuses an older or an equal token. It accepts a write only from the holder that
			registered last. From B's read on, A's writes are refused. A token is a number × 256, plus the hand-offs. In v3 and v5 that
			number is the server's time since 2000 in steps of 32 µs, or the last number plus one. In v6 and v7 it is the transaction or the
			revision that created the key. RedLock and Memcached have no token, so v4 and v8 cannot do this.`,
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
		database is MariaDB, or a file of SQLite where there is no MariaDB. RedLock and Memcached issue no
		token, so a resource that checks tokens has nothing to compare: it accepts the late write. SET NX PX runs as steps: A writes
		after B has written.`,
	Anomaly:  "pause",
	Schedule: experiments.Schedule{Takes: 40 * time.Second},
	Check:    clients.Any(history.Counter, history.Late),
	Variants: slices.Concat(
		[]experiments.Variant{{Name: "no pause", Run: clients.InProcess(clients.Holding{Strategy: lockstrategy.NameRedis}, unpaused)}},
		pausedSteps("SET NX PX", naive.Compare),
		pausedSteps("SET NX PX, DEL", naive.PlainDEL),
		pausedHolder("v3", lockstrategy.NameRedis, "", true),
		pausedHolder("v4", lockstrategy.NameRedLock, "RedLock, ", false),
		clients.Once(pausedHolder("v5", lockstrategy.NameDatabase, "database, ", true)),
		clients.Once(pausedHolder("v6", lockstrategy.NameZooKeeper, "ZooKeeper, ", true)),
		clients.Once(pausedHolder("v7", lockstrategy.NameEtcd, "etcd, ", true)),
		clients.Once(pausedHolder("v8", lockstrategy.NameMemcached, "Memcached, ", false)),
	),
}

// pausedHolder are a lock's two variants: without a token check, and with one. They are named after the lock.
func pausedHolder(version, strategy, name string, issuesTokens bool) []experiments.Variant {
	h := clients.Holding{Strategy: strategy}
	if issuesTokens {
		return clients.PauseVariants(h, version, name+"paused", name+"paused, token checked")
	}
	all := clients.PauseVariants(h, version, name+"paused", name+"paused, no token to check")
	all[1].Anomaly, all[1].Expect = all[0].Anomaly, experiments.Sometimes
	return all
}

// pausedSteps is a lock whose holder is stopped between two of its steps. It has no lease to look at, and no token.
func pausedSteps(name string, lock naive.Lock) []experiments.Variant {
	return []experiments.Variant{{
		Name: name + ", paused", Expect: experiments.Sometimes, Strategy: name, Run: clients.Interleaving(lock, clients.ExpiredDuringWork),
	}}
}

func unpaused(ctx context.Context, x *clients.HolderProcess) {
	x.Write(ctx, x.Resource.Read(x.Holder)+1)
	x.Release(ctx)
	x.B.Update(ctx, x.Resource)
}
