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
//	A  acquire ─ granted, number 7 ─────── renew ─ renew ─ release ─┐ publishes
//	B  acquire ─ refused: 30 s left ─ subscribe ─ waits ────────────┴─ acquire ─ granted, number 9
//
// The words: a key is locked by one owner, which is one call of Acquire. Its lease ends unless it is renewed. Each grant has a larger
// number, of which fencing tokens are made. A waiter subscribes to the key's channel. A loss ends the lease's context.
//
// Read [Lock.Acquire], then the methods of the owner in this order: try, Renew, Release. Package session has the loop around try, and
// renews.
package redislock
