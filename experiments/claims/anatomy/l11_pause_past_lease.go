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
	Articles: experiments.Articles{"A0", "A2"},
	Claim: `
		A holder that is paused past its lease writes after its successor; a resource that checks the fencing token refuses that write.`,
	Level:    experiments.Medium,
	Start:    true,
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
