// Package lockstrategy holds the ways of this lab to take a distributed lock.
//
// A [Strategy] grants a [Lease] on a key. A lease is a held lock that has a lifetime: its context
// ends, with a cause that wraps [ErrLost], the moment the holder can no longer rely on it. [Cohort] puts one
// first-in-first-out queue per key in front of any [Backend], so that one process shows it one contender,
// and hands leases off inside the process. [Guard] is the callback form that the scenarios ask for.
//
//	None      grants everybody at once        v1 (alone), v2 (behind a Gate: a mutex in the process)
//	Redis     one Redis, Redisson's protocol  v3 (behind a Gate)
//	RedLock   five independent Redis nodes    v4 (behind a Gate)
//
// # What is promised
//
//   - Until its context ends, a lease is the only one on its key, as far as the backend keeps its word.
//     The end is counted from before the request was sent, less what clocks may drift.
//   - The context of a lost lease says why: [ErrExpired], [ErrForced], [ErrGone], [ErrUnreachable].
//   - Who holds a key and acquires it under its lease's context enters again, without a round trip,
//     and is out when it has released as often.
//   - A release works under a context that has ended, and is repeated until it is confirmed or the lease has
//     surely ended. So is the undoing of an acquire whose answer was lost: what it may have locked is free
//     as soon as the server can be told, and when the lease ends at the latest.
//   - In one process waiters are served in the order of their arrival. One that leaves costs the others nothing.
//   - A lease is handed off to the next waiter of the process at most as often, and as long, as [HandOff]
//     says. Then, with the Redis lock, the process goes that has waited longest: no waiter starves.
//   - Fences grow from lease to lease, over hand-offs too, and over a failover that lost the last of them,
//     as long as the new master's clock is not behind.
//
// # What is NOT guaranteed
//
//   - A holder that ignores its lease's context may write after its successor. Only a check of the
//     fence at the resource stops that write; the scenarios do it (order.ErrStale, pview.ErrStale).
//   - A holder that is stopped (a paused process, a long garbage collection, a suspended laptop,
//     whose monotonic clock stands still) learns of its loss only when it runs again.
//   - Redis: a master that dies before it replicated the key loses the lock, and the promoted
//     replica grants it again (A2, A3, A4). So does a key that is evicted or deleted by hand.
//   - RedLock: a node that restarts empty, or whose clock jumps ahead, can let a second majority
//     form (Kleppmann 2016; antirez, "Is Redlock safe?").
//   - RedLock and None issue no fence: Lease.Fence is 0.
//   - Order between processes: the Redis lock serves Go processes in their order, except after a crash and beside
//     Java, which comes first or not as it happens. RedLock knows no order between processes.
//
// # How to read it
//
// Acquire: Gate.Acquire queues (queue.go) and asks the backend, Redis.Grant (redis.go, acquire.lua), which waits at
// its place (place.go) for what it hears (news.go, line.go). Renew: tenure.keep (tenure.go; from when on: young.go),
// renew.lua. Release: Lease.Release (lease.go), Gate.handOff (handoff.go) to the next waiter or, by tenure.close and
// redisKeeper.Release (keeper.go), to release.lua.
//
// A tenure is the time for which a process has a key, a hold one owner's part of it, and a lease one entry of
// the owner: leases of different owners follow each other in a tenure, and an owner that enters again has
// several. A place is where a process waits for a key, in the queue of processes that the server keeps.
//
// The articles A0 to A4 are listed in the README.
package lockstrategy
