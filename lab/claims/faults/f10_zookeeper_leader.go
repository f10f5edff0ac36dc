package faults

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
)

var F10 = Experiments.Add(lab.Experiment{
	ID:       "F10-zookeeper-leader",
	Articles: lab.Articles{"A3", "A4"},
	Claim:    "The lock in ZooKeeper survives the death of the leader with one holder at most, and the next leader grants it again.",
	Level:    lab.Advanced,
	Anomaly:  "lost at failover",
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.ZooKeeper},
		Slow:   true,
		Takes:  30 * time.Second,
		Trials: 1, // each variant starts three servers, and waits for a real election
	},
	Check:    clients.Any(history.Counter, history.Exclusion),
	Variants: zooKeeperElects.Variants("v6"),
})

// A lease ends after half of the session's timeout without a confirmation.
var zooKeeperElects = failovers.Election[*servers.ZooKeeperNode]{
	Start: failovers.StartZooKeeper, Lease: 20 * time.Second, Probe: 20 * time.Second,
}
