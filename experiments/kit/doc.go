// Package kit is what the claims share: servers, clients and scenarios that an experiment is made of. What only one claim
// needs stands in the claim's own file.
//
// A function of this package ends the trial when a step fails without which the trial shows nothing (Trial.Must). So a
// scenario reads from top to bottom as its drawing does.
//
//	client.go        a client that requests a lock, and a holder; both record what they believe
//	resource.go      what the lock protects: a counter that may check fencing tokens
//	redis.go         one Redis, and clients of the Redis lock on it
//	database.go      one MariaDB, clients of the lock in a row on it, a connection that is killed (D01, D02, F06, F07)
//	zookeeper.go     an ensemble of ZooKeeper, and clients of the lock on it (F06, F10, F12)
//	memcached.go     one Memcached, and clients of its lock (M01)
//	etcd.go          servers of etcd, and clients of the lock on them (F06, F09, F12)
//	successive.go    holders one after another, none of which releases (F01 to F08, L13, L15); work beside a waiter (L05, L07)
//	interleaving.go  a scripted interleaving of a lock's steps (L01 to L05, L08, L10 to L13, F01, F06, F07)
//	servers.go       the servers of any lock of the lab, and clients of it (L05, L11, L12, L23, L24)
//	process.go       a holder in a process of its own, to be killed or paused (L06, L11, L23, F12)
//	polling.go       a lock that clients ask for again and again (L09, L14, F08)
//	quorum.go        RedLock over independent nodes: the deciding node, nodes out of reach, availability (F05 to F08)
//	failover.go      a master with replicas that is replaced (F01 to F04)
//	leader.go        a leader that is killed: a client that waits, and how long nobody is granted (F02, F09, F10)
//	elected.go       Sentinel, and a cluster, that replace their master (F02, F03, F12)
//	partition.go     a network that is cut in two, a majority of the servers on one side (F12)
//	faults.go        kill, hang, restart, clock ahead, a proxy that drops or ends; each with its proof
//	service.go       instances of the app behind a balancer: page views, orders, calls to a supplier (P0 to P8, G1 to G12, R0)
//	supplier.go      nodes that call one supplier under a limit (R1 to R10)
//	meeting.go       clients that wait for each other before their next script (R2, R9)
//	shop.go          two instances of the shop over one database, interleaved by their statements (S1 to S4)
//	cache.go         a Redis before a database, its readers and writers, and what they may not do (C1 to C6)
//	cacheprocess.go  a client of the cache in a process of its own, to be killed between two steps (C3, C5, C6)
//	baresetnx.go     A3's lock against the breakdown of a hot key (C3)
//	turns.go         clients of a cache that do one step at a time, in every order (C4)
//	checks.go        checks that are made of others
package kit
