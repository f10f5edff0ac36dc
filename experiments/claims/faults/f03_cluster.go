package faults

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/history"
)

var F03 = experiments.Experiment{
	ID:       "F03-cluster",
	Articles: experiments.Articles{"A3", "A4"},
	Claim:    "In a Redis Cluster, too, a master that dies before it has replicated the lock loses it: two clients hold it.",
	Says: `
		A3 says that a lock needs consistency, and that a cluster of Redis prefers availability: its nodes agree in the end, not at
		every moment. A4 runs its lock on such a cluster.`,
	Lesson: experiments.Lesson{
		Question: `
			A cluster has three masters, and a majority of them decides which node serves a slot. The master with the lock dies before
			it has replicated the lock. Does the majority save the lock?`,
		Predict: `
			(a) Yes, a majority of the masters has the lock. (b) Yes, no replica without the lock is elected. (c) No, the replica is
			elected and grants the lock again.`,
		Why: `
			(c). The majority decides which node is the master of a slot. It does not store the writes: each key is on one master and its
			replica. The replica follows asynchronously, as it does without a cluster. It was elected without the lock, and granted it
			to B while A's lease had not ended.`,
		Fix: `
			Do not count the masters of a cluster as copies of the lock. Check the fencing token at the resource, or use a store that
			answers only when a majority has the write.`,
		Limits: `
			The run cuts the replication on purpose; normally that moment is short. Each master has one replica, so there was no better
			one to elect. A client that reconnects immediately learns of the new master and stops sooner than A does here. No variant
			checks the fencing token.`,
		Next: "F01 (the same without a cluster), F04 (WAIT), L16 (the keys of a lock and the slots of a cluster). With the containers of " +
			"the compose file: `app lab run F03 --on docker`.",
		Level: experiments.Advanced,
	},
	Drawing: failovers.Drawing,
	How: `
		Every node announces the address of a fault proxy, over which its replica follows it. The messages between the cluster's nodes
		do not pass the proxy. The proxy of the master that owns the lock's slot drops the replication. A takes the lock, the master is
		killed, and the other masters let the replica take its slots. B asks the cluster anew. A knows the dead master only, so that it
		learns of the new one late. A client that reconnects immediately asks the new master for its lock, and stops. In containers
		there is no proxy: the replicas are taken off their network until the master is dead.`,
	Anomaly: "lost at failover",
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.RedisServer},
		Docker: 65 * time.Second,
		Slow:   true,
		Takes:  13 * time.Second,
		Trials: 1, // each variant starts six servers, and waits for a real election
	},
	Check:    history.Counter,
	Variants: failovers.Variants(failovers.Clustered, clients.LongLease, failovers.KilledOnce(failovers.Clustered)),
}
