package anatomy

import (
	"context"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
)

var L22 = Experiments.Add(lab.Experiment{
	ID:       "L22-token-at-read",
	Articles: lab.Articles{"A0", "A2"},
	Claim: `
		A resource that checks the fencing token only at the write can lose an update; one that checks it at the read, too, cannot.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: time.Second},
	Check:    history.Counter,
	Variants: []lab.Variant{
		{Name: "not lost, checked at the write only", Run: bothHaveRead(false, false)},
		{Name: "lost, checked at the write only", Expect: lab.Sometimes, Fault: true, Run: bothHaveRead(true, false)},
		{Name: "lost, checked at the read, too", Fault: true, Run: bothHaveRead(true, true)},
		{Name: "one token granted twice, checked at the read, too", Fault: true, Run: clients.OnRedis(oneTokenTwice)},
	},
})

// bothHaveRead lets A and B read before A writes and then B, because the lock was lost; or lets them follow each other.
func bothHaveRead(lost, atRead bool) lab.Scenario {
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
	back, err := x.Conn.Get(ctx, counter).Int64()
	x.Must(err)
	proof := ""
	if back == ahead {
		proof = fmt.Sprintf("the counter is %d, as before A's grant", back)
	}
	x.Fault("admin", "deletes the lock's key, and sets the token counter back", proof)
	b := x.NewClient("B", clients.LongLease).Acquire(ctx)
	if first, second := a.Lease.FencingToken(), b.Lease.FencingToken(); first != second {
		x.Must(fmt.Errorf("the token %d of A is not the token %d of B", first, second))
	}
	later := r.Read(b)
	r.Write(a, value+1)
	r.Write(b, later+1)
	b.Release(ctx)
	_ = a.TryRelease(ctx)
}
