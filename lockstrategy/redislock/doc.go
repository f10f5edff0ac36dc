// Package redislock is a lock on one Redis that Redisson's RLock understands: the same key, the same message, the same hash.
//
//	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true})
//	lock, err := redislock.New(client, lockstrategy.Timing{Expiry: 30 * time.Second})
//	if err != nil {
//		return err
//	}
//	defer lock.Close()
//	lease, err := lock.Acquire(ctx, "lock:pview")
//	…
//	defer lease.Release(ctx)
//
// Two processes, A and B, want one key:
//
//	A  acquire ─ granted, number n ─────────────────────── renew ─ renew ─ release ─┐ publishes
//	B  acquire ─ refused ─ subscribe ─ acquire ─ refused ─ waits, 1 s at most ──────┴─ acquire ─ granted, a larger number
//
// A key is locked by one owner, which is one call of [Lock.Acquire]. Its lease ends unless it is renewed. Each grant has a number, of which
// fencing tokens are made: the server's time in steps of 32 µs, or the last number plus one if that is larger. A waiter subscribes to the
// key's channel. A loss ends the lease's context.
//
// Read [Lock.Acquire], then the methods of the owner in this order: try, Renew, Release, Yield. The folder script has the three Lua scripts
// that they run. Package session has the loop around try, and renews. The app's v3 is this lock behind a localqueue.Queue, so that one
// caller of a process asks at a time. docs/lock.md, "How v3 works", has the whole picture.
package redislock
