package anatomy

import (
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
)

var L22 = experiments.Experiment{
	ID:       "L22-token-at-read",
	Articles: experiments.Articles{"A0", "A2"},
	Claim: `
		A resource that checks the fencing token only at the write can lose an update; one that checks it at the read, too, cannot.`,
	Says: `
		The articles check whether a client still owns the lock. None of them lets the data refuse a stale holder.`,
	Lesson: experiments.Lesson{
		Question: `
			A holds the lock with the token 5, B with the token 6: the lock was lost in between. Both have read the same value. The resource
			refuses a write whose token is smaller than the largest that it has seen at a write. A writes first, then B. What happens?`,
		Predict: `
			(a) A's write is refused, because its token is older. (b) B's write is refused, because A has changed the value. (c) Both writes are
			accepted, and one update is lost.`,
		Why: `
			(c). The resource learns of a token when it sees it. At A's write it has seen no token of B yet, so 5 is the largest, and A's write is
			accepted. B's token is larger, so its write is accepted, too. But B computed its value from what it read before A's write.`,
		Fix: `
			Register the token at the read, in the same command that reads. Then B's read stores 6, and A's write with 5 is refused. After a read
			with a token, only its holder can write, until another one reads. Then no loss of the lock can lose an update.`,
		Limits: `
			Every client has to send its token: one that reads or writes without a token is not refused. The tokens have to grow: here they come
			from the server's clock, so they grow although the counter of tokens is deleted. A resource that forgets its data in a failover
			forgets the token as well. Two masters of a split brain may grant one token twice; so the resource refuses a token that is registered.`,
		Next: `
			L11 (a paused holder, where the token at the write is enough), P9 and G9 (page views and orders during every fault).
			Read the scripts pview/read.lua and pview/write.lua.`,
		Level: experiments.Medium,
	},
	Drawing: `
A      ├─ lock, token 5 ─ read 0 ──────────────── write 1: accepted
admin                            ✗ deletes the lock's key
B                                  ├─ lock, token 6 ─ read 0 ────────── write 1: one update is lost`,
	How: `
		A takes the lock and reads. Its key is deleted by hand, B takes the lock with a larger token, and reads the same value. Then A writes,
		and after it B. A writes with 5 before B writes with 6, so a check at the write accepts both. In the third variant the resource
		registers each token at the read. Each step waits for the one before: the interleaving is always the same. In the last variant the
		token counter is set back as well, so that B is granted A's token. Two masters of a split brain can do that.`,
	Schedule: experiments.Schedule{Takes: time.Second},
	Check:    history.Counter,
	Variants: []experiments.Variant{
		{Name: "not lost, checked at the write only", Run: bothHaveRead(false, false)},
		{Name: "lost, checked at the write only", Expect: experiments.Sometimes, Fault: true, Run: bothHaveRead(true, false)},
		{Name: "lost, checked at the read, too", Fault: true, Run: bothHaveRead(true, true)},
		{Name: "one token granted twice, checked at the read, too", Fault: true, Run: clients.OnRedis(oneTokenTwice)},
	},
}

// bothHaveRead lets A and B read before A writes and then B, because the lock was lost; or lets them follow each other.
func bothHaveRead(lost, atRead bool) experiments.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		r := clients.NewResource(x.Trial, true)
		if !atRead {
			r.ChecksWrites()
		}
		a, b := x.NewClient("A", clients.LongLease).Acquire(ctx), x.NewClient("B", clients.LongLease)
		if !lost {
			r.Add(a)
			a.Release(ctx)
			b.Update(ctx, r)
			return
		}
		value := r.Read(a)
		deleted, err := x.Conn.Del(ctx, clients.LockKey).Result()
		x.Must(err)
		if deleted == 1 {
			x.Fault("admin", "deletes the lock's key", "the server says that it deleted one key")
		}
		h := b.Acquire(ctx)
		later := r.Read(h)
		r.Write(a, value+1)
		r.Write(h, later+1)
		h.Release(ctx)
		_ = a.TryRelease(ctx)
	})
}

// oneTokenTwice grants one token to A and to B. The counter is ahead of the server's clock, so tokens follow it; it is set back.
func oneTokenTwice(ctx context.Context, x *clients.Redis) {
	const counter, ahead = "locklab_grant:{" + clients.LockKey + "}", 1 << 52
	r := clients.NewResource(x.Trial, true)
	x.Must(x.Conn.Set(ctx, counter, ahead, 0).Err())
	a := x.NewClient("A", clients.LongLease).Acquire(ctx)
	value := r.Read(a)
	x.Must(x.Conn.Del(ctx, clients.LockKey).Err())
	x.Must(x.Conn.Set(ctx, counter, ahead, 0).Err())
	b := x.NewClient("B", clients.LongLease).Acquire(ctx)
	proof := ""
	if token := a.Lease.FencingToken(); token == b.Lease.FencingToken() {
		proof = fmt.Sprintf("A and B both have the token %d", token)
	}
	x.Fault("admin", "deletes the lock's key, and sets the token counter back", proof)
	later := r.Read(b)
	r.Write(a, value+1)
	r.Write(b, later+1)
	b.Release(ctx)
	_ = a.TryRelease(ctx)
}
