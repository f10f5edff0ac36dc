package anatomy

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
	"locklab/stack"
)

var L15 = experiments.Experiment{
	ID:       "L15-forced-unlock",
	Articles: experiments.Articles{"A1"},
	Claim:    "A holder learns that its lock was freed by force: its lease's context ends.",
	Says: `
		RLock can be unlocked by force. The article does not say what happens to the holder.`,
	Elsewhere: `
		Redisson's holder is not notified, and works on. That is from the source of Redisson 4.7.0
		(https://github.com/redisson/redisson).`,
	Lesson: experiments.Lesson{
		Question: `
			A lock seems to be stuck, and an operator frees it by force. But its holder is alive and works. Another client acquires the
			lock. How does the first holder learn that it has to stop?`,
		Predict: "(a) At its next renewal. (b) By a notification, long before that. (c) Not at all.",
		Why: `
			(b). The holder learns of it long before its renewal, but that alone stops nothing. The forced unlock deletes the key and
			publishes the message of a release. A holder that listens asks the server whether the key is still its own. It is not, so
			the lease's context ends, with a cause. A holder that does not look at its context writes all the same, and one update is
			lost.`,
		Fix: `
			Give the lease's context to each part of the work, and stop when it ends. Check the fencing token at the resource as well:
			it refuses the write of a holder that did not look. Free a lock by force only when its holder is known to be dead.`,
		Limits: `
			A session begins to listen 2.5 s after the grant (the delayed start). A forced unlock before that is noticed when it begins;
			the run waits until A listens. A holder that may not subscribe, or whose message is lost, learns of it at its next renewal.
			Until the context ends,
			only the token stops a write.`,
		Next:  "L11 (the holder is paused), F11 (the holder is cut off), L06 (renewal ends with its holder).",
		Level: experiments.Medium,
	},
	Drawing: `
A       ├─ lock ─ read 0 ───────── ✗ its context ends: it does not write
admin                 └─ frees it
B                        ├─ lock ─ read 0 ─ write 1`,
	How: `
		A takes the lock with a lease of a minute, whose first renewal is far away, and reads. When A listens, an administrator frees
		the lock by force,
		and B takes it, reads and writes. A waits until its context ends, at most for half of the time until its renewal, and does not
		write. In two variants A does not look and writes all the same. In the last one the resource checks the fencing token.`,
	Schedule: experiments.Schedule{Takes: 11 * time.Second, Trials: 1}, // each waits for a lease, and nothing here is random
	Check:    clients.Any(history.Counter, clients.Noted(notNotified)),
	Variants: []experiments.Variant{
		{Name: "not forced", Run: clients.OnSingle(clients.NoFault)},
		{Name: "forced", Fault: true, Run: forced(true, false)},
		{Name: "forced, and A does not look", Expect: experiments.Sometimes, Fault: true, Run: forced(false, false)},
		{Name: "forced, A does not look, the token is checked", Fault: true, Run: forced(false, true)},
	},
}

// notNotified notes a holder that has not learned that its lock was freed.
var notNotified = history.Mark{Name: "its lock was freed by force and it was not notified"}

// forced frees A's lock by force. A looks at its lease before it writes, or does not.
func forced(looks, checks bool) experiments.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		r := clients.NewResource(x.Trial, checks)
		a, b := x.NewClient("A", clients.LongLease).Acquire(ctx), x.NewClient("B", clients.LongLease)
		value := r.Read(a)
		x.Must(stack.Until(ctx, func(ctx context.Context) error { // A begins to listen a moment after its grant
			const channel = "redisson_lock__channel:{" + clients.LockKey + "}"
			listening, err := x.Conn.PubSubNumSub(ctx, channel).Result()
			if err == nil && listening[channel] == 0 {
				err = errors.New("nobody listens yet")
			}
			return err
		}))
		freed, err := b.Admin.ForceUnlock(ctx, clients.LockKey)
		x.Must(err)
		if freed {
			x.Fault("admin", "frees the lock by force", "the server says that a client held it")
		}
		b.Update(ctx, r)
		if !looks {
			r.Write(a, value+1)
		}
		short, cancel := context.WithTimeout(ctx, clients.LongLease/6)
		defer cancel()
		if err := a.AwaitLoss(short); err != nil {
			a.Mark(notNotified)
		}
		_ = a.TryRelease(ctx)
	})
}
