package anatomy

import (
	"context"
	"errors"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
)

var L15 = Experiments.Add(lab.Experiment{
	ID:       "L15-forced-unlock",
	Articles: lab.Articles{"A1"},
	Claim:    "A holder learns that its lock was freed by force: its lease's context ends.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 11 * time.Second, Trials: 1}, // each waits for a lease, and nothing here is random
	Check:    clients.Any(history.Counter, clients.Noted(notNotified)),
	Variants: []lab.Variant{
		{Name: "not forced", Run: clients.OnSingle(clients.NoFault)},
		{Name: "forced", Fault: true, Run: forced(true, false)},
		{Name: "forced, and A does not look", Expect: lab.Sometimes, Fault: true, Run: forced(false, false)},
		{Name: "forced, A does not look, the token is checked", Fault: true, Run: forced(false, true)},
	},
})

// notNotified notes a holder that has not learned that its lock was freed.
var notNotified = history.Mark{Name: "its lock was freed by force and it was not notified"}

// forced frees A's lock by force. A looks at its lease before it writes, or does not.
func forced(looks, checks bool) lab.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		r := clients.NewResource(x.Trial, checks)
		a, b := x.NewClient("A", clients.LongLease).Acquire(ctx), x.NewClient("B", clients.LongLease)
		value := r.Read(a)
		x.Must(servers.Until(ctx, func(ctx context.Context) error { // A begins to listen a moment after its grant
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
