// Package lockstrategy is the contract of the lab's locks. It imports no client of a server; each lock is a package below it.
//
//	lock, err := redislock.New(client, lockstrategy.Timing{})
//	lease, err := lock.Acquire(ctx, "lock:order:{7}", lockstrategy.WaitAtMost(time.Second))
//	if err != nil {
//		return err
//	}
//	defer lease.Release(ctx)
//	work(lease.Context(), lease.FencingToken())
//
// A lease is a held lock with a lifetime. When its holder can no longer rely on it, its context ends, and the cause wraps [ErrLost]:
//
//	acquire        renewed at a third of the lease           no renewal confirmed
//	   |───────────────┼───────────────┼──────────────────────────────|
//	   granted         │               │                              context ends: ErrUnreachable
//	                   the key is gone: the context ends now: ErrGone, or ErrForced
//
// The packages:
//
//	redislock     v3: one Redis, with Redisson's keys and messages. Read it first, with session
//	redlock       v4: a majority of independent Redis nodes, over redsync
//	sqllock       v5: a row in MySQL, MariaDB or SQLite
//	zklock        v6: ZooKeeper
//	etcdlock      v7: etcd
//	memcachelock  v8: an item in Memcached
//	session       what they share: waiting, renewal, the notice of a loss, late answers
//	localqueue    a queue in the process. The app puts it in front of each of them: its v3 is localqueue over redislock
//	locktest      the suite that every lock passes
//	articlelock   the locks of the articles, as lists of steps
//	preflight     tries a lock for readiness, and finds server settings that lose one
//
// With the queue, callers of one process share a lease of the lock, one after the other:
//
//	Lease ─ holder ─┐
//	Lease ─ holder ─┼─ turn ── Lease ─ session ─ owner ── the key in Redis
//	Lease ─ holder ─┘
//	       localqueue            session    redislock
//
// A release goes from left to right. The last holder of a turn releases the lock's lease; the others hand it off.
//
// In comments, A0 to A4 are the articles of docs/articles.md.
//
// # What is promised
//
//   - Until its context ends, a lease is the only one on its key, unless the server loses the key or the process pauses. The end is counted
//     from before the request was sent, less the drift of the clocks.
//   - Release works under a context that has ended. A release that was not confirmed is repeated in the background, and so is the
//     release of an acquire whose answer was lost.
//   - Fencing tokens grow from lease to lease, where the lock has them (v3, v5, v6, v7).
//
// # What is NOT guaranteed
//
//   - A holder that ignores its lease's context may write after the next holder. Only a check at the resource refuses that: order.ErrStale,
//     pview.ErrStale.
//   - A process that is paused, or a suspended laptop, learns of a loss only when it runs again.
//   - Redis loses a lock in a failover, by eviction, a restart without its data, or a clock jump. docs/lock.md says what breaks each lock.
package lockstrategy
