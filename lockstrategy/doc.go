// Package lockstrategy holds the ways of this lab to take a distributed lock.
//
// A [Strategy] grants a [Lease] on a key. A lease is a held lock that has a lifetime: its context
// ends, with cause [ErrLost], the moment the holder can no longer rely on it. [Gate] puts one
// first-in-first-out queue per key in front of any strategy, so that one process shows the backend
// one waiter. [Guard] is the callback form that the scenarios ask for.
//
//	None      grants everybody at once        v1 (alone), v2 (behind a Gate: a mutex in the process)
//	Redis     one Redis, Redisson's protocol  v3 (behind a Gate)
//	RedLock   five independent Redis nodes    v4 (behind a Gate)
//
// # What is NOT guaranteed
//
//   - A holder that ignores its lease's context may write after its successor. Only a check of the
//     fence at the resource stops that write; the scenarios do not check it yet.
//   - A holder that is stopped (a paused process, a long garbage collection, a suspended laptop,
//     whose monotonic clock stands still) learns of its loss only when it runs again.
//   - Redis: a master that dies before it replicated the key loses the lock, and the promoted
//     replica grants it again (A2, A3, A4). So does a key that is evicted or deleted by hand.
//   - RedLock: a node that restarts empty, or whose clock jumps ahead, can let a second majority
//     form (Kleppmann 2016; antirez, "Is Redlock safe?").
//   - RedLock and None issue no fence: Lease.Fence is 0.
//   - Order over processes: a gate is fair inside its process only.
//
// The articles A0 to A4 are listed in the README.
package lockstrategy
