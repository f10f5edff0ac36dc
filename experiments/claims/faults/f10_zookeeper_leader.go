package faults

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/history"
	"locklab/stack"
)

var F10 = experiments.Experiment{
	ID:       "F10-zookeeper-leader",
	Articles: experiments.Articles{"A3", "A4"},
	Claim:    "The lock in ZooKeeper survives the death of the leader with one holder at most, and the next leader grants it again.",
	Level:    experiments.Advanced,
	Anomaly:  "lost at failover",
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.ZooKeeper},
		Slow:   true,
		Takes:  30 * time.Second,
		Trials: 1, // each variant starts three servers, and waits for a real election
	},
	Check:    clients.Any(history.Counter, history.Exclusion),
	Variants: zooKeeperElects.Variants("v6"),
}

// A lease ends after half of the session's timeout without a confirmation.
var zooKeeperElects = failovers.Election[*stack.ZooKeeperNode]{
	Start: failovers.StartZooKeeper, Lease: 20 * time.Second, Probe: 20 * time.Second,
}
