package claims

import (
	"time"

	"locklab/experiments"
	"locklab/history"
)

// failoverDrawing is of F01 to F03.
const failoverDrawing = `
A        ├─ SET lock ─ read 0 ─────────────────────────────── write 1
master   ──────┬──────────────── ✗ dies
               ╳ not replicated yet
replica  ──────────────────────────── promoted: it has no lock
B                                      ├─ SET lock ─ read 0 ─ write 1   ↑ one update is lost`

var _ = register(experiments.Experiment{
	ID:       "F01-master-slave",
	Article:  "A2, A3, A4",
	Claim:    "A master that dies before it has replicated the lock loses it: two clients hold it.",
	Says:     "Replication is asynchronous: the master answers first and replicates later. If it dies between the two, the promoted replica knows nothing of the lock and grants it again.",
	Drawing:  failoverDrawing,
	How:      "Every replica follows its master over a link of ours. The link is cut for the replicas before A takes the lock (a pause would not cut it: the kernel of a paused process goes on receiving). The master is killed, a replica is promoted by hand, and B asks it. A writes while its lease is good, as far as it can know. Where the lock was replicated, B is refused until A's lease has ended. In containers there is no link: the replicas are taken off their network until the master is dead.",
	Anomaly:  "lost at failover",
	Needs:    []experiments.Need{experiments.RedisServer},
	Docker:   true,
	Takes:    8 * time.Second,
	Check:    history.Counter,
	Variants: failoverArms(masterSlave, time.Second, onceKilled(masterSlave)),
})
