package claims

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "F01-master-slave",
	Article: "A2, A3, A4",
	Claim:   "A master that dies before it has replicated the lock loses it: two clients hold it.",
	Says: `
		Replication is asynchronous: the master answers first and replicates later. If it dies between the two, the promoted replica knows
		nothing of the lock and grants it again.`,
	Drawing: kit.FailoverDrawing,
	How: `
		Every replica follows its master over a fault proxy. The proxy drops the replication before A takes the lock. (A paused replica would
		not do: the kernel of a paused process goes on receiving.) The master is killed, a replica is promoted by hand, and B asks it. A writes
		while its lease is good, as far as it can know. Where the lock was replicated, B is refused until A's lease has ended. In containers
		there is no proxy: the replicas are taken off their network until the master is dead.`,
	Anomaly:  "lost at failover",
	Needs:    []experiments.Need{experiments.RedisServer},
	Docker:   140 * time.Second,
	Takes:    8 * time.Second,
	Check:    history.Counter,
	Variants: kit.FailoverVariants(kit.MasterSlave, time.Second, kit.KilledOnce(kit.MasterSlave)),
})
