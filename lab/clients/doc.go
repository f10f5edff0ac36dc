// Package clients has the clients of a lock that several claims share, what their lock protects, and what happens to them. Code that only
// one claim needs stands in the claim's own files.
//
// A function of this package ends the trial when a step fails without which the trial shows nothing (Trial.Must). So a
// scenario reads from top to bottom as its drawing does.
//
//	client.go        a client that requests a lock, and a holder; both record what they believe
//	resource.go      what the lock protects: a counter that may check fencing tokens
//	redis.go         one Redis, and clients of the Redis lock on it
//	database.go      one MariaDB, clients of the lock in a row on it, a connection that is killed
//	databasepair.go  A, which takes a lock of the database first, and B, which tries in between
//	servers.go       the servers of any lock of the lab, and clients of it; a variant for each of v3 to v8
//	process.go       a holder in a process of its own, to be killed or paused
//	polling.go       a lock that clients ask for again and again
//	successive.go    holders one after another, none of which releases; work beside a waiter
//	interleaving.go  a scripted interleaving of a lock's steps
//	faults.go        kill, restart, a proxy that ends; each with its proof
//	checks.go        checks that are made of others
//
// Package failovers has servers of which one is replaced, and quorums. Package services has instances of the app, the shop, the cache and
// the supplier.
package clients
