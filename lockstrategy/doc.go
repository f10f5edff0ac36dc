// Package lockstrategy holds the lab's ways to take a distributed lock.
//
// A [Strategy] grants a [Lease] on a key. A lease is a held lock with a lifetime. When the holder can no longer rely on
// it, its context ends with a cause that wraps [ErrLost].
//
//	None      grants everybody                     v1 (alone), v2 (behind a Cohort: a mutex in the process)
//	Redis     one Redis, Redisson's wire protocol  v3 (behind a Cohort)
//	RedLock   five independent Redis nodes         v4 (behind a Cohort)
//	Database  a row in MySQL, MariaDB or SQLite    v5 (behind a Cohort)
//	ZooKeeper an ensemble of ZooKeeper servers     v6 (behind a Cohort)
//	Etcd      a cluster of etcd                    v7 (behind a Cohort)
//	Memcached an item in Memcached                 v8 (behind a Cohort)
//
// # Files
//
// Read them in this sequence. The first six are the Redis lock without a cohort. It also needs package pubsub.
//
//	lock.go               the contract: Strategy, Lease, options, errors
//	redis.go, three .lua  one Redis: try, wait, try again; its scripts, and the names of its keys and channels
//	server.go             sends Redis a request; waits for a server that hangs; the errors of Redis
//	session.go            keeps a granted lock: renews it, and ends its context with the cause
//	notify.go             decides when a caller that waits tries again
//	yield.go              the yield rule: the debt of a process, and how a caller pays it
//	cohort.go             a decorator over any strategy: its bounds, and re-entrance
//	queue.go              the state machine of that queue: the path of a caller, and each transition, under one mutex
//	guard.go              the callback form that the scenarios ask for
//	open.go               opens a strategy by its name, behind a cohort
//	none.go               no lock
//	commands.go           the Redis lock as single commands, for experiments
//	poll.go               Acquire for a store that notifies nobody; the common part of Database, Etcd and Memcached
//	redlock.go            a majority of nodes (redsync); redlock_node.go is one of them
//	database.go           a row in a database; database_sql.go has its statements
//	zookeeper.go          a queue in ZooKeeper: zookeeper_queue.go; zookeeper_client.go is the connection
//	etcd.go               a queue in etcd; etcdlease.go has etcd's leases
//	memcached.go          an item in Memcached
//	admin.go              looks at a Redis lock from outside, and forces an unlock
//	held.go               lists the locks that a server of Redis keeps
//	probe.go              tries a lock, and says which command a server refuses
//
// Package pubsub receives messages from Redis over few connections. Package locktest is the suite that every strategy
// passes, alone and behind a cohort. Package preflight tries a lock for readiness, and naive has the articles' locks as lists of steps.
//
// # The states of a queue
//
// A [Cohort] has one queue for each key. All transitions are in queue.go, under one mutex. A turn is one grant and its hand-offs.
//
//	from       event                                        to         action
//	idle       a caller arrives                             competing  it asks the strategy
//	competing  the strategy grants                          held       the caller holds, and a turn begins
//	competing  the strategy refuses or panics, or the       next       only this caller gets the error, or the panic
//	           caller leaves
//	competing  the strategy is unavailable, and the caller  idle       every caller that waits gets that error
//	           still waits
//	held       a release; a caller waits, and the turn      held       the lease is handed off to the first caller that waits
//	           may go on
//	held       another release                              releasing  the lease is given back to the strategy
//	held       the lease is lost                            next       its contexts have ended
//	held       it is lost on its way to a caller            competing  that caller asks the strategy
//	releasing  the strategy has answered                    next       the debt of the yield rule is noted
//
// "next" is competing when a caller waits, and idle otherwise. A turn may go on within the bounds of [HandOff] while more than half of the
// lease is left. By default it has 128 leases, and where there are tokens 256 at most. A lease with [LeaseFor] or [RenewAtMost] is not
// handed off, and a caller with one of them takes none. A refusal for now is no unavailability: it ends the attempt of a caller that tries
// once.
//
// A caller that arrives in another state than idle goes to the end of the queue. One that uses [TryOnce] gets [ErrTaken] instead. A caller
// that leaves the queue changes no state, unless it was chosen in the same moment. Then it releases the lease, or lets the next caller
// compete. [Cohort.Close] ends the wait of the callers in all queues. The caller that competes or holds goes on.
//
// # What is promised
//
//   - Until its context ends, a lease is the only one on its key, unless the backend loses the key or the holder's process
//     pauses. The end is counted from before the request was sent, less the drift of the clocks.
//   - The context of a lost lease says why: [ErrExpired], [ErrForced], [ErrGone], [ErrUnreachable].
//   - A release works under a context that has ended. It is repeated until the server confirms it, for a time that
//     docs/lock.md names. The compensating release of an acquire without a
//     reply has that bound only where docs/lock.md says so.
//   - Fencing tokens grow from lease to lease, over hand-offs too. They grow when the last of them is lost, as at a
//     failover, unless the server's clock is behind as well. docs/lock.md has two more exceptions.
//
// A [Cohort] adds:
//
//   - In one process callers are served first in, first out. One that leaves costs the others nothing. (With
//     ZooKeeper and etcd, the first caller that leaves costs its process its position.)
//   - A lease is handed off to the next caller of the process within the bounds of [HandOff]. It is not handed off when
//     less than half of it is left, as after renewals that failed.
//   - No process starves: after its turn a process lets those that wait go first (yield.go). Where waiters poll, it does so
//     after some turns.
//   - A caller that acquires a key under the context of its own lease on it enters again, without a request. The lock
//     is released when the caller has released it as often.
//
// # What is NOT guaranteed
//
//   - A holder that ignores its lease's context may write after the next holder. Only a check at the resource refuses
//     it. The scenarios check the fencing token at the read and at the write (order.ErrStale, pview.ErrStale).
//   - A holder that is stopped learns of its loss only when it runs again. Examples are a paused process, a long garbage
//     collection, and a suspended laptop, whose monotonic clock stands still.
//   - Redis: a failover before the key was replicated (A2), an eviction, an empty restart or a clock jump loses the lock.
//   - RedLock: a node that restarts empty, or whose clock jumps ahead, can let a second majority form.
//   - Database: a failover to a replica without the row loses the lock. A clock that jumps ahead ends leases early.
//   - ZooKeeper: a pause longer than the session lets a second holder in. Servers that lose their disks lose the lock.
//   - Etcd: a restored backup, or a leader that was paused and revokes renewed leases, lets a second holder in.
//   - Memcached: the lock is lost when its item is evicted, when the server restarts, or when it stalls.
//   - RedLock, Memcached and None issue no fencing token: it is 0.
//   - A sequence of processes: the yield rule gives each of them its turn, but not in the sequence of their requests.
//
// docs/glossary.md has the terms. The articles A0 to A4 are listed in docs/articles.md.
package lockstrategy
