package anatomy

import (
	"context"
	"slices"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
	"locklab/versions"
)

var L11 = Experiments.Add(lab.Experiment{
	ID:       "L11-pause-past-lease",
	Articles: lab.Articles{"A0", "A2", "A3"},
	Claim: `
		A holder that is paused past its lease writes after its successor; a resource that checks the fencing token refuses that write.`,
	Level:    lab.Medium,
	Start:    true,
	Anomaly:  "pause",
	Schedule: lab.Schedule{Takes: 50 * time.Second},
	Check:    history.Counter,
	Variants: slices.Concat(
		[]lab.Variant{{Name: "no pause", Run: clients.InProcess(clients.Holding{Strategy: versions.NameRedis}, unpaused)}},
		pausedSteps("SET NX PX", articlelock.Compare),
		pausedSteps("SET NX PX, DEL", articlelock.PlainDEL),
		pausedHolder("v3", "", clients.Holding{Strategy: versions.NameRedis}),
		tokenless(pausedHolder("v4", "RedLock, ", clients.Holding{Strategy: versions.NameRedLock})),
		clients.Slow(clients.Once(pausedHolder("v5", "database, ", clients.Holding{Strategy: versions.NameDatabase}))),
		clients.Slow(clients.Once(pausedHolder("v6", "ZooKeeper, ", clients.Holding{Strategy: versions.NameZooKeeper, Majority: true}))),
		clients.Slow(clients.Once(pausedHolder("v7", "etcd, ", clients.Holding{Strategy: versions.NameEtcd, Majority: true}))),
		clients.Slow(clients.Once(tokenless(pausedHolder("v8", "Memcached, ", clients.Holding{Strategy: versions.NameMemcached})))),
	),
})

// pausedHolder are two variants in which A is paused past its lease. Where no token is checked, its write is accepted. name is that of
// the lock.
func pausedHolder(version, name string, h clients.Holding) []lab.Variant {
	unchecked := lab.Variant{
		Name: name + "paused", Expect: lab.Sometimes, Strategy: version, Fault: true, Needs: clients.NeedsOf(h.Strategy),
		Run: clients.InProcess(h, pausePastLease),
	}
	checked := unchecked
	h.Checks = true
	checked.Name, checked.Anomaly, checked.Expect = name+"paused, token checked", "pause with fencing token", lab.Never
	checked.Run = clients.InProcess(h, pausePastLease)
	return []lab.Variant{unchecked, checked}
}

// tokenless are these variants of a lock that issues no token: the resource has nothing to check, and accepts the write.
func tokenless(paused []lab.Variant) []lab.Variant {
	last := &paused[1]
	last.Name, last.Anomaly, last.Expect = paused[0].Name+", no token to check", "", lab.Sometimes
	return paused
}

// pausePastLease reads as A, and pauses A until B has had the lock. When A continues, the write is made without a look at its lease.
func pausePastLease(ctx context.Context, x *clients.HolderProcess) {
	value := x.Resource.Read(x.Holder)
	x.Look(ctx)
	x.A.Pause()
	x.B.Update(ctx, x.Resource) // when A's lease is over
	runs := x.Holder.BeginExtend()
	x.A.Resume()
	_ = runs(ctx) // A runs: its work writes, whatever it has answered
	x.Resource.Write(x.Holder, value+1)
	x.AwaitLoss(ctx)
}

// pausedSteps is a lock whose holder is stopped between two of its steps. It has no lease to look at, and no token.
func pausedSteps(name string, lock articlelock.Lock) []lab.Variant {
	return []lab.Variant{{
		Name: name + ", paused", Expect: lab.Sometimes, Strategy: name, Run: clients.Interleaving(lock, clients.ExpiredDuringWork),
	}}
}

func unpaused(ctx context.Context, x *clients.HolderProcess) {
	x.Write(ctx, x.Resource.Read(x.Holder)+1)
	x.Must(x.Holder.TryRelease(ctx))
	x.B.Update(ctx, x.Resource)
}
