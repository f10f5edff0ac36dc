package faults

import (
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/topology"
)

var F13 = Experiments.Add(lab.Experiment{
	ID:    "F13-planned-failover",
	Claim: "A planned failover loses confirmed writes, and grants locks twice, unless the old master stops its writes first.",
	Level: lab.Medium,
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.RedisServer},
		Slow:   true,
		Takes:  120 * time.Second,
		Trials: 1, // each variant starts up to seven servers, and the old master is demoted after ten seconds
	},
	Check: clients.Any(services.LostViews, history.Winners),
	Variants: []lab.Variant{
		{Name: "no failover", Run: viewsDuring(topology.Sentinel, noFailover)},
		{Name: "FAILOVER", Fault: true, Run: viewsDuring(topology.MasterSlave, typeFailover)},
		{Name: "CLUSTER FAILOVER", Fault: true, Run: viewsDuring(topology.Cluster, typeFailover)},
		{Name: "SENTINEL FAILOVER", Expect: lab.Sometimes, Fault: true, Run: viewsDuring(topology.Sentinel, typeFailover)},
		{Name: "writes refused, then SENTINEL FAILOVER", Fault: true, Run: viewsDuring(topology.Sentinel, refuseWrites)},
		{Name: "writes paused, then SENTINEL FAILOVER", Fault: true, Run: viewsDuring(topology.Sentinel, pauseWrites)},
		{
			Name: "writes paused, SENTINEL FAILOVER too late", Expect: lab.Sometimes, Fault: true,
			Run: viewsDuring(topology.Sentinel, pauseTooLong),
		},
		{
			Name: "orders, SENTINEL FAILOVER, token not checked", Expect: lab.Sometimes, Fault: true,
			Run: ordersDuring(typeFailover, contested, false),
		},
		{Name: "orders, SENTINEL FAILOVER, token checked", Fault: true, Run: ordersDuring(typeFailover, contested, true)},
		{
			Name: "orders, writes refused, then SENTINEL FAILOVER, token not checked", Fault: true,
			Run: ordersDuring(refuseWrites, 0, false),
		},
		{
			Name: "orders, writes paused, then SENTINEL FAILOVER, token not checked", Fault: true,
			Run: ordersDuring(pauseWrites, 0, false),
		},
	},
})
