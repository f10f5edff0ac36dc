package faults

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
)

var F03 = Experiments.Add(lab.Experiment{
	ID:       "F03-cluster",
	Articles: lab.Articles{"A3", "A4"},
	Claim:    "In a Redis Cluster, too, a master that dies before it has replicated the lock loses it: two clients hold it.",
	Level:    lab.Advanced,
	Anomaly:  "lost at failover",
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.RedisServer},
		Docker: 65 * time.Second,
		Slow:   true,
		Takes:  13 * time.Second,
		Trials: 1, // each variant starts six servers, and waits for a real election
	},
	Check:    history.Counter,
	Variants: failovers.Variants(failovers.Clustered, clients.LongLease, failovers.KilledOnce(failovers.Clustered)),
})
