// Package clients has the clients of a lock, what their lock protects, and what happens to them. Code that only one claim needs stands in
// the claim's own files.
//
// A [Holder] is a client that holds a lock: a goroutine of the lab ([Client] and [LocalHolder]), or a process that can be killed and paused
// ([Program] and [ProcessHolder]). A process is this binary with a [Lock] of the lab, or anybody's program. Both speak package protocol,
// so the lab sees them alike. What they protect is a [Resource] of the lab, which no fault of theirs affects.
//
// A function of this package ends the trial when a step fails without which the trial shows nothing (Trial.Must). So a
// scenario reads from top to bottom as its drawing does. The example of [OnRedis] is a whole one: two clients, a fault with its proof, and
// a step that this package does not know.
//
//	client.go        what every holder has; a client in a goroutine, and its lock
//	program.go       a client in a process, and its lock; dialogue.go is how the lab and a process talk
//	serve.go         the locks of the lab, served to the lab by this binary
//	task.go          this binary with other work, which stops at one of its steps
//	resource.go      what the lock protects: a counter that may check fencing tokens; checks that are made of others
//	redis.go         one Redis, and clients of the Redis lock on it
//	database.go      one MariaDB, clients of the lock in a row on it, a connection that is killed
//	servers.go       the servers of any lock of the lab, and clients of it; a variant for each version on a server
//	process.go       A in a process of its own and B in the lab, for scenarios
//	polling.go       a lock that clients ask for again and again
//	successive.go    holders one after another, none of which releases; work beside a waiter
//	interleaving.go  a scripted interleaving of a lock's steps
//	faults.go        kill, restart, a proxy that ends; each with its proof
//
// What is NOT guaranteed: what a program says of its lock is recorded when it arrives. A program that is paused says it later.
package clients
