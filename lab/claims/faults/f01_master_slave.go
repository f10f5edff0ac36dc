package faults

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy/articlelock"
)

var F01 = Experiments.Add(lab.Experiment{
	ID:       "F01-master-slave",
	Articles: lab.Articles{"A2", "A3", "A4"},
	Claim:    "A master that dies before it has replicated the lock loses it: two clients hold it.",
	Level:    lab.Medium,
	Start:    true,
	Anomaly:  "lost at failover",
	Schedule: lab.Schedule{Needs: []lab.Need{lab.RedisServer}, Docker: 185 * time.Second, Takes: 12 * time.Second},
	Check:    history.Counter,
	Variants: slices.Concat(
		failovers.Variants(failovers.MasterSlave, 3*time.Second, failovers.KilledOnce(failovers.MasterSlave)),
		clients.NaiveVariants("replication cut, lock taken, killed", lostAtFailover),
	),
})

// lostAtFailover is a naive lock whose holder works while the master is killed before it has replicated the lock.
func lostAtFailover(lock articlelock.Lock) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x := failovers.MasterSlave(ctx, t)
		x.CutReplication(ctx, x.Replicas...)
		clients.LoseDuringWork(ctx, t, lock, clients.Connect(ctx, t, x.Servers.At(x.Master.AnnouncedAddr())), func() redis.UniversalClient {
			x.FailOver(ctx)
			return clients.Connect(ctx, t, x.Servers)
		})
	}
}
