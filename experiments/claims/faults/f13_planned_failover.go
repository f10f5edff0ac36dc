package faults

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/topology"
)

var F13 = experiments.Experiment{
	ID:    "F13-planned-failover",
	Title: "A planned failover",
	Claim: "A planned failover loses confirmed writes, and grants locks twice, unless the old master stops its writes first.",
	Elsewhere: `
		FAILOVER pauses the writes at the master until the replica has all of them (https://redis.io/docs/latest/commands/failover/). CLUSTER
		FAILOVER does the same (https://redis.io/docs/latest/commands/cluster-failover/). SENTINEL FAILOVER acts "as if the master was not
		reachable" (https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/). CLIENT PAUSE stops the writes by hand
		(https://redis.io/docs/latest/commands/client-pause/).`,
	Lesson: experiments.Lesson{
		Question: `
			The master of Redis needs a new kernel. You type the failover command, and wait until a replica is the master. No server fails. Are
			page views lost that clients were told are counted?`,
		Predict: `
			(a) No: nothing fails, so nothing is lost. (b) Yes, a few, as when the master dies. (c) It depends on the command: SENTINEL FAILOVER
			loses all views of about a second.`,
		Why: `
			(c). FAILOVER and CLUSTER FAILOVER stop the writes at the master first. The replica takes over when it has every byte. SENTINEL
			FAILOVER stops nothing. The replica is a master immediately, and no longer copies the old one. The sentinels ask the replica once a
			second, and name it to clients only when it has answered. Until then every client writes to the old master, and is told that its view
			is counted. The old one becomes a replica about ten seconds later, and drops those writes. A lock that it granted meanwhile is unknown
			to the new master, which grants it again. A lock that it released meanwhile stays locked at the new master, until the lease
			ends.`,
		Fix: "At a cluster, type `CLUSTER FAILOVER` at a replica of the master. At a master with replicas, type `FAILOVER` at the master. " +
			"With Sentinel, type five commands. (1) `CLIENT PAUSE 60000 WRITE` at the master. (2) `INFO replication` at the master, until each " +
			"replica has the master's offset. (3) `SENTINEL FAILOVER lab` at a sentinel, and `SENTINEL GET-MASTER-ADDR-BY-NAME lab` until it " +
			"answers with the replica. (4) `REPLICAOF`, with the address of the new master, at the old one. No sentinel does that while writes " +
			"are paused. (5) `CLIENT UNPAUSE` at the old one. And let the database check the fencing token: then no order gets two winners, " +
			"whatever was typed.",
		Limits: `
			The clients of the page views follow Sentinel. In the variants of the orders one instance is not told of the new master, as
			a client without a subscription. Sentinel's ten seconds are those of its code, and no setting changes them. With
			min-replicas-to-write the old master refuses writes when the other replicas have left it; F04 measures that for a crash. A
			view that waits during the pause is answered with 503 when its connection is closed.`,
		Next:  "F02 (the master dies), F04 (min-replicas-to-write), G9 (orders while the master is replaced again and again).",
		Level: experiments.Medium,
	},
	Drawing: `
operator     SENTINEL FAILOVER
old master   ├─ lock, read 7, write 8, 9, 10 … ─────────── becomes a replica: 8, 9, 10 are dropped
replica        promoted: it has 7 ───┬─ lock, read 7, write 8   ↑ counted twice
sentinel                             named to clients`,
	How: `
		Eight clients send page views of v3 to two instances, without a pause. When 100 are counted, the failover command is typed. When clients
		are told the new master and 100 more views are counted, the load ends. For the orders, two instances have a client each. Instance A is
		connected to the old master, and B follows Sentinel. When the replica is a master, eight drivers request an order each at A, and read.
		Then eight others request the same orders at B. The drivers at A write when those at B are answered. The orders are in a
		database. Its check of the token is left out in two variants.`,
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.RedisServer},
		Slow:   true,
		Takes:  75 * time.Second,
		Trials: 1, // each variant starts up to seven servers, and the old master is demoted after ten seconds
	},
	Check: clients.Any(services.LostViews, history.Winners),
	Variants: []experiments.Variant{
		{Name: "no failover", Run: viewsDuring(topology.Sentinel, noFailover)},
		{Name: "FAILOVER", Fault: true, Run: viewsDuring(topology.MasterSlave, typeFailover)},
		{Name: "CLUSTER FAILOVER", Fault: true, Run: viewsDuring(topology.Cluster, typeFailover)},
		{Name: "SENTINEL FAILOVER", Expect: experiments.Sometimes, Fault: true, Run: viewsDuring(topology.Sentinel, typeFailover)},
		{Name: "writes paused, then SENTINEL FAILOVER", Fault: true, Run: viewsDuring(topology.Sentinel, typePause)},
		{
			Name: "orders, SENTINEL FAILOVER, token not checked", Expect: experiments.Sometimes, Fault: true,
			Run: ordersDuring(typeFailover, false),
		},
		{Name: "orders, SENTINEL FAILOVER, token checked", Fault: true, Run: ordersDuring(typeFailover, true)},
		{
			Name: "orders, writes paused, then SENTINEL FAILOVER, token not checked", Fault: true,
			Run: ordersDuring(typePause, false),
		},
	},
}
