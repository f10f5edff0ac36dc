package faults

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
)

var F09 = Experiments.Add(lab.Experiment{
	ID:       "F09-etcd-leader",
	Articles: lab.Articles{"A3", "A4"},
	Claim: `
		The lock in etcd survives the death of the leader: there is one holder at most, and a new leader grants the lock again.`,
	Level:   lab.Advanced,
	Anomaly: "lost at failover",
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.Etcd},
		Slow:   true,
		Takes:  20 * time.Second,
		Trials: 1, // each variant starts three servers, and waits for a real election
	},
	Check:    clients.Any(history.Counter, history.Exclusion),
	Variants: etcdElects.Variants("v7"),
})

var etcdElects = failovers.Election[*servers.Member]{Start: failovers.StartEtcd, Lease: clients.LongLease, Probe: 600 * time.Millisecond}
