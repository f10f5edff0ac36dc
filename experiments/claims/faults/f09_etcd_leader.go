package faults

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/history"
	"locklab/stack"
)

var F09 = experiments.Experiment{
	ID:       "F09-etcd-leader",
	Articles: experiments.Articles{"A3", "A4"},
	Claim: `
		The lock in etcd survives the death of the leader: there is one holder at most, and a new leader grants the lock again.`,
	Level:   experiments.Advanced,
	Anomaly: "lost at failover",
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.Etcd},
		Slow:   true,
		Takes:  20 * time.Second,
		Trials: 1, // each variant starts three servers, and waits for a real election
	},
	Check:    clients.Any(history.Counter, history.Exclusion),
	Variants: etcdElects.Variants("v7"),
}

var etcdElects = failovers.Election[*stack.Member]{Start: failovers.StartEtcd, Lease: clients.LongLease, Probe: 600 * time.Millisecond}
