package claims

import (
	"context"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
)

var _ = register(experiments.Experiment{
	ID:      "L15-forced-unlock",
	Article: "A1",
	Claim:   "The holder notices a forced unlock: its context ends.",
	Says: `
		RLock can be unlocked by force. The article does not say what happens to the holder: Redisson's holder learns nothing, and works on.`,
	Drawing: `
A       ├─ lock ─ read 0 ───────── ✗ its context ends: it does not write
admin                 └─ frees it
B                        ├─ lock ─ read 0 ─ write 1`,
	How: `
		A takes the lock with a lease of a minute, whose first renewal is far away, and reads. An administrator frees the lock by force, and B
		takes it. A waits until its context ends, for half of the time to its renewal at most, and does not write. In other variants it does not
		look and writes all the same: then only a check of the fencing token helps.`,
	Takes: 3 * time.Second,
	Check: kit.Any(history.Counter, kit.Noted(notNotified)),
	Variants: []experiments.Variant{
		{Name: "not forced", Run: kit.OnSingle(kit.NoFault)},
		{Name: "forced", Fault: true, Run: forced(true, false)},
		{Name: "forced, and A does not look", Expect: experiments.Sometimes, Fault: true, Run: forced(false, false)},
		{Name: "forced, A does not look, the token is checked", Fault: true, Run: forced(false, true)},
	},
})

// notNotified notes a holder that has not learned that its lock was freed.
const notNotified = "its lock was freed by force and it was not notified"

// forced frees A's lock by force. A looks at its lease before it writes, or does not.
func forced(looks, checks bool) experiments.Scenario {
	return kit.OnRedis(func(ctx context.Context, x *kit.Redis) {
		r := kit.NewResource(x.Trial, checks)
		a, b := x.NewClient("A", kit.LongLease).Acquire(ctx), x.NewClient("B", kit.LongLease)
		value := r.Read(a)
		freed, err := b.Admin.ForceUnlock(ctx, kit.LockKey)
		x.Must(err)
		if freed {
			x.Fault("admin", "frees the lock by force", "the server says that a client held it")
		}
		b.Update(ctx, r)
		if !looks {
			r.Write(a, value+1)
		}
		short, cancel := context.WithTimeout(ctx, kit.LongLease/6)
		defer cancel()
		if err := a.AwaitLoss(short); err != nil {
			a.Note(notNotified)
		}
		_ = a.TryRelease(ctx)
	})
}
