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
// # Layers
//
// Each can be read alone.
//
//	lock.go               the contract: Strategy, Lease, options, errors
//	redis.go, three .lua  one Redis: try, wait, try again
//	session.go            keeps a granted lock: renews it, and ends its context with the cause
//	notify.go             decides when a caller that waits tries again
//	redlock.go            a majority of nodes (redsync), with the same sessions and notifications
//	database.go, _sql.go  a row in a database, with the same sessions; waiters poll
//	zookeeper.go          a queue in ZooKeeper (zookeeper_queue.go), with the same sessions; zookeeper_client.go is its connection
//	etcd.go, etcdlease.go a queue in etcd, with the same sessions
//	memcached.go          an item in Memcached, with the same sessions; callers that wait poll
//	cohort.go, turn.go    a decorator over any strategy: a queue in the process, hand-off, re-entrance
//	guard.go              the callback form that the scenarios ask for
//
// Package pubsub receives messages from Redis over few connections. Package locktest is the suite that every strategy
// passes, alone and behind a cohort.
//
// # What is promised
//
//   - Until its context ends, a lease is the only one on its key, unless the backend loses the key or the holder's process
//     pauses. The end is counted from before the request was sent, less what clocks may drift.
//   - The context of a lost lease says why: [ErrExpired], [ErrForced], [ErrGone], [ErrUnreachable].
//   - A release works under a context that has ended. It is repeated until the server confirms it, or until the lease
//     must have ended. So is the compensating release of an acquire without a reply.
//   - Fencing tokens grow from lease to lease, over hand-offs too. They grow over a failover that lost the last of them,
//     unless the new master's clock is behind. docs/lock.md has two more exceptions.
//
// A [Cohort] adds:
//
//   - In one process callers are served in the order of their arrival. One that leaves costs the others nothing. (With
//     ZooKeeper and etcd, the first caller that leaves costs its process its position.)
//   - A lease is handed off to the next caller of the process within the bounds of [HandOff]. It is not handed off when
//     less than half of it is left, as after renewals that failed.
//   - No process starves: after its turn a process lets those that wait go first ([Request].Others).
//   - A caller that acquires a key under the context of its own lease on it enters again, without a request. The lock
//     is released when the caller has released it as often.
//
// # What is NOT guaranteed
//
//   - A holder that ignores its lease's context may write after the next holder. Only a resource that checks the fencing
//     token, at the read and at the write, refuses it; the scenarios do (order.ErrStale, pview.ErrStale).
//   - A holder that is stopped learns of its loss only when it runs again. Examples are a paused process, a long garbage
//     collection, and a suspended laptop, whose monotonic clock stands still.
//   - Redis: a master that dies before it replicated the key loses the lock, and the promoted replica grants it again
//     (A2, A3, A4). It is also lost when its key is evicted or deleted by hand, when the
//     server restarts empty, and when its clock jumps ahead.
//   - RedLock: a node that restarts empty, or whose clock jumps ahead, can let a second majority form (Kleppmann 2016;
//     antirez, "Is Redlock safe?").
//   - Database: a failover to a replica without the row loses the lock. A clock that jumps ahead ends leases early.
//   - ZooKeeper: a holder that pauses for longer than its session works beside the next one. Servers that lose their disks
//     lose the lock.
//   - Etcd: a restored backup, or a leader that was paused and revokes renewed leases, lets a second holder in.
//   - Memcached: the lock is lost when its item is evicted, when the server restarts, or when it stalls.
//   - RedLock, Memcached and None issue no fencing token: it is 0.
//   - A sequence of processes: the yield rule gives each of them its turn, but not in the sequence of their requests.
//
// # Words
//
//	lease          a held lock with a lifetime
//	grant          what a backend answers when it gives a key to a caller
//	session        keeps one grant until it is released or lost
//	fencing token  a number that grows from lease to lease, for the resource to refuse older holders
//	notification   a message that a key was released; a hint that may get lost
//	cohort         the callers of one process, queued in front of a strategy
//	hand-off       a lease goes from one caller of the cohort to the next
//	turn           one grant and its hand-offs
//	yield rule     after its turn a process lets as many releases pass as other processes waited
//	compensating release  gives back what a server may have granted without our knowing
//
// docs/glossary.md has all terms. The articles A0 to A4 are listed in the README.
package lockstrategy
