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
		reachable" (https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/), and its loss is known since 2019
		(https://github.com/redis/redis/issues/6062). FAILOVER is not for a master that sentinels watch: they replace it again
		(https://github.com/redis/redis/issues/13118). Valkey 9 has SENTINEL FAILOVER with COORDINATED, which was not tried here
		(https://github.com/valkey-io/valkey/pull/1292). CLIENT PAUSE with WRITE also pauses PUBLISH
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
			to the new master, which grants it again. A lock that it released meanwhile stays locked at the new master until the lease ends. So
			views may stand still for a whole lease, here ten seconds. After a crash F02 measures about three seconds without a grant.`,
		Fix: "At a cluster, type `CLUSTER FAILOVER` at a replica of each master that you will stop. At a master with replicas and without " +
			"sentinels, type `FAILOVER` at the master. Then type `REPLICAOF` with the new master's address at the other replicas, which still " +
			"follow the old one. Never type `FAILOVER` at a master that sentinels watch. With Sentinel: (1) `CONFIG GET min-replicas-to-write` at " +
			"the master; note the value. (2) `CONFIG SET min-replicas-to-write 99` there. A write must be answered with NOREPLICAS from now on; " +
			"try one. Where min-replicas-max-lag is 0 it is not, and you must set that first. (3) `INFO replication` there; note " +
			"master_repl_offset. Repeat it until the offset of each replica is at least that number. (4) `SENTINEL FAILOVER lab` at a sentinel; " +
			"`lab` is the name in `sentinel monitor`. If it is refused, go to (6): nothing has changed. (5) `ROLE` at the old master, until it is " +
			"a slave, after some ten seconds: the sentinels see to that. (6) `CONFIG SET min-replicas-to-write` with the noted value, at the old " +
			"one. Where it has a configuration file, type `CONFIG REWRITE`, because the sentinels made it write the 99 into that file. Now you " +
			"may stop it. And let the database check the fencing token: then no order gets two winners, whatever was typed.",
		Limits: `
			While writes are refused, a lock that is held stays held, but it can be neither renewed nor released. So its lease must be longer than
			the whole stop. A caller that has the lock, or asks for a free one, gets 503. A caller that waits goes on waiting. With CLIENT PAUSE
			most callers wait in place of that. But a pause ends by itself, and it stops the sentinels' messages, too. When it is longer than
			down-after-milliseconds, the sentinels replace the master by themselves. The command that you type then replaces their new master. A
			variant shows that. The replicas may copy the whole data set afterwards (https://github.com/redis/redis/issues/4819). A new master whose
			own min-replicas-to-write is 1 or more refuses writes until they have. Here that setting is 0. The clients of the page views follow
			Sentinel. A client that does not writes to the old master for ten more seconds, and no line of sentinel.conf changes that time. In the
			variants of the orders instance A is such a client. How many views are lost depends on the load.`,
		Next:  "F02 (the master dies), F04 (min-replicas-to-write), G9 (orders while the master is replaced again and again).",
		Level: experiments.Medium,
	},
	Drawing: `
operator     SENTINEL FAILOVER
old master   ├─ lock, read 7, write 8, 9, 10 … ─────────── becomes a replica: 8, 9, 10 are dropped
replica        promoted: it has 7 ───┬─ lock, read 7, write 8   ↑ counted twice
sentinel                             named to clients`,
	How: `
		Eight clients send page views of v3 to two instances, without a pause. When 100 are counted, the operator types. When clients are told
		the new master, and it has counted 100 more views, the load ends. Where writes are paused, the operator also types REPLICAOF
		and CLIENT UNPAUSE at the old master, because the sentinels cannot reach it. In one variant the operator types only when the sentinels
		have replaced the paused master by themselves. For the orders, instance A is connected to the old master, and B asks the
		sentinels. When the replica is a master, eight drivers request an order each at A, and read. When clients are told the new master, eight
		others request the same orders at B. The drivers at A write when those at B are answered. The orders are in a database. Its check of the
		token is left out where the name says so.`,
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.RedisServer},
		Slow:   true,
		Takes:  120 * time.Second,
		Trials: 1, // each variant starts up to seven servers, and the old master is demoted after ten seconds
	},
	Check: clients.Any(services.LostViews, history.Winners),
	Variants: []experiments.Variant{
		{Name: "no failover", Run: viewsDuring(topology.Sentinel, noFailover)},
		{Name: "FAILOVER", Fault: true, Run: viewsDuring(topology.MasterSlave, typeFailover)},
		{Name: "CLUSTER FAILOVER", Fault: true, Run: viewsDuring(topology.Cluster, typeFailover)},
		{Name: "SENTINEL FAILOVER", Expect: experiments.Sometimes, Fault: true, Run: viewsDuring(topology.Sentinel, typeFailover)},
		{Name: "writes refused, then SENTINEL FAILOVER", Fault: true, Run: viewsDuring(topology.Sentinel, refuseWrites)},
		{Name: "writes paused, then SENTINEL FAILOVER", Fault: true, Run: viewsDuring(topology.Sentinel, pauseWrites)},
		{
			Name: "writes paused, SENTINEL FAILOVER too late", Expect: experiments.Sometimes, Fault: true,
			Run: viewsDuring(topology.Sentinel, pauseTooLong),
		},
		{
			Name: "orders, SENTINEL FAILOVER, token not checked", Expect: experiments.Sometimes, Fault: true,
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
}
