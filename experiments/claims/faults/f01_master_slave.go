package faults

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

var F01 = experiments.Experiment{
	ID:       "F01-master-slave",
	Title:    "Lost at failover: master and replicas",
	Articles: experiments.Articles{"A2", "A3", "A4"},
	Claim:    "A master that dies before it has replicated the lock loses it: two clients hold it.",
	Says: `
		A2 says that replication is asynchronous: a master may die before it has replicated the lock, and then the promoted replica grants it
		again. A3 says that strong consistency is not guaranteed, so the lock can be acquired twice when the master dies. It does not say
		that replication is asynchronous. A4 tells it of Sentinel, without the cause.`,
	Lesson: experiments.Lesson{
		Question: `
			A client acquires the lock from a Redis master with replicas. A moment later the master dies, and a replica becomes the new
			master. Another client requests the same lock there. Is it refused?`,
		Predict: `
			(a) Yes, the master answers only when its replicas have the lock. (b) Yes, the new master waits until old leases have ended.
			(c) It depends on whether the lock had been replicated.`,
		Why: `
			(c). The master answers A first and sends the lock to its replicas later. When it dies in between, the replica that is promoted
			has no such key. So it grants the lock to B. A's lease has not ended, and A does not ask the new master, so both
			write. Where the lock had been replicated, the new master refused B until A's lease had ended.`,
		Fix: `
			Where two holders cost money, do not rely on a replicated Redis alone. Check the fencing token at the resource. v3's tokens
			follow the server's clock, so those of the new master are larger unless its clock is behind. Then the resource refuses A once it
			has seen B. Or use a store that answers only when a majority has the write.`,
		Limits: `
			The run cuts the replication on purpose. Normally that moment is short, and the loss is rare. No variant here checks the
			token. While the new master's clock is behind, its tokens are smaller, and a resource that checks them refuses its holders.
			A client that reconnects immediately would ask the new master for its lock, and stop.`,
		Next: "F02 and F03 (the promotion is automatic), F04 (a client that waits for a replica), L11 (the fencing token). With the " +
			"containers of the compose file: `app lab run F01 --on docker`.",
		Level: experiments.Medium,
		Start: true,
	},
	Drawing: failovers.Drawing,
	How: `
		Every replica follows its master over a fault proxy. The proxy drops the replication before A takes the lock. (A paused replica
		would not do: the kernel of a paused process goes on receiving.) The master is killed, a replica is promoted by hand, and B
		requests the lock there. A writes, because by its own clock its lease has not ended. Where the lock was replicated, B is
		refused until A's lease has ended. In containers there is no proxy: the replicas are taken off their network until the master is
		dead. The naive locks of the articles lose their key in the same way.`,
	Anomaly:  "lost at failover",
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.RedisServer}, Docker: 185 * time.Second, Takes: 12 * time.Second},
	Check:    history.Counter,
	Variants: slices.Concat(
		failovers.Variants(failovers.MasterSlave, 3*time.Second, failovers.KilledOnce(failovers.MasterSlave)),
		clients.NaiveVariants("replication cut, lock taken, killed", lostAtFailover),
	),
}

// lostAtFailover is a naive lock whose holder works while the master is killed before it has replicated the lock.
func lostAtFailover(lock naive.Lock) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		x := failovers.MasterSlave(ctx, t)
		x.CutReplication(ctx, x.Replicas...)
		clients.LoseDuringWork(ctx, t, lock, clients.Connect(ctx, t, x.Servers.At(x.Master.AnnouncedAddr())), func() redis.UniversalClient {
			x.FailOver(ctx)
			return clients.Connect(ctx, t, x.Servers)
		})
	}
}
