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
	Level:    experiments.Advanced,
	Anomaly:  "lost at failover",
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
