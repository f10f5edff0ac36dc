package anatomy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
)

var L06 = experiments.Experiment{
	ID:       "L06-watchdog-ends",
	Articles: experiments.Articles{"A0", "A1", "A2"},
	Claim:    "Renewal ends when the holder's process dies, and when a bound on it is reached.",
	Says: `
		The watchdog of A2 extends the lease while the holder has the lock. A holder that dies blocks the others until its lease ends,
		and no longer (A1). A0 extends a lease a bounded number of times. A0 also names another answer to a lease that was lost. A0's
		sentence is damaged in the translation. We read: roll back the work of the failed node, and log it.`,
	Lesson: experiments.Lesson{
		Question: `
			Renewal keeps a lock for as long as the work lasts. Now the holder's process is killed. Does somebody have to delete the lock? And
			what happens when a bound on the renewal is reached while the holder works?`,
		Predict: "After the kill, the lock is free: (a) immediately. (b) After one lease at most. (c) Never, because it was renewed.",
		Why: `
			(b). The lock is free after one lease at most. Renewal runs in the holder's process and dies with it, and Redis counts the last lease
			down. No client has to notice the death. A bound ends renewal while the holder lives. Then the next client gets the lock. A holder
			that works on without looking writes over what that client wrote.`,
		Fix: `
			Let renewal run in the process that does the work, never in another one. Choose a short lease, so that the wait after a crash is
			short. Bound renewal where a holder may hang. Then work under the lease's context, or check the fencing token. To roll back, as we
			read A0, do the work in a transaction, and commit only while the lease's context has not ended.`,
		Limits: `
			A kill is the clean case. A process that is paused continues later and does not know what it missed (L11). A holder that hangs and
			still renews is not tried: only a bound would end its lock. No Redis fails. A rollback is not tried either. It needs work
			that can be taken back, and it does not notice a pause between the last look and the COMMIT (L11).`,
		Next: "L05-lease-overrun shows what renewal is for, and L07-explicit-lease how to lose it. F11-partition cuts a living holder off. " +
			"L01-no-expiry kills a holder without an expiry: try `app lab step L01`.",
		Level: experiments.Medium,
	},
	Drawing: `
A      ├─ lock ─ renews ─ renews ─ ✗ killed
Redis  ═══════════════════════════════════┤ one lease later
B      waits                              ├─ lock ─ read ─ write`,
	How: `
		A is a process of its own, and B waits for the lock. Alive, A works for three leases, and B stays out. After A is killed, the lock's
		time to live must only fall, and then B gets the lock. With a bound of one lease A works on without looking until B has held the lock.`,
	Anomaly:  "orphaned lock",
	Schedule: experiments.Schedule{Takes: 12 * time.Second},
	Check:    clients.Any(history.Counter, clients.Noted(renewedAfterDeath)),
	Variants: []experiments.Variant{
		{Name: "alive", Run: clients.InProcess(clients.Holding{Strategy: lockstrategy.NameRedis}, alive)},
		{Name: "killed", Strategy: "v3", Fault: true, Run: clients.InProcess(clients.Holding{Strategy: lockstrategy.NameRedis}, killedHolder)},
		{
			Name: "RedLock, killed", Strategy: "v4", Fault: true,
			Run: clients.InProcess(clients.Holding{Strategy: lockstrategy.NameRedLock}, killedHolder),
		},
		{
			Name: "bound reached", Expect: experiments.Sometimes,
			Run: clients.InProcess(clients.Holding{Strategy: lockstrategy.NameRedis, Bounded: true}, boundedRenewal),
		},
	},
}

// renewedAfterDeath notes a lock whose end moves away although its holder is dead.
var renewedAfterDeath = history.Mark{Name: "its lock was renewed after its death, or has no end"}

func alive(ctx context.Context, x *clients.HolderProcess) {
	r := x.Resource
	value := r.Read(x.Holder)
	waitForB := x.Go(func() { x.B.Update(ctx, r) })
	time.Sleep(3 * x.Lease) // that is the work
	x.Write(ctx, value+1)
	x.Release(ctx)
	waitForB()
}

func killedHolder(ctx context.Context, x *clients.HolderProcess) {
	x.Write(ctx, x.Resource.Read(x.Holder)+1)
	x.A.Kill()
	for _, n := range x.Nodes {
		x.Must(endsInTime(ctx, x, n))
	}
	x.B.Update(ctx, x.Resource)
}

// endsInTime watches the lock of a dead holder on a node until it is gone. By the server's own clock it has a lease left at
// most, and never more than before.
func endsInTime(ctx context.Context, x *clients.HolderProcess, n *stack.Node) error {
	left := x.Lease
	return n.WithClient(func(c *redis.Client) error {
		return n.Await(ctx, func(ctx context.Context) error {
			now, err := c.PTTL(ctx, x.Key).Result()
			switch {
			case err != nil:
				return err
			case now == -2: // there is no such key
				return nil
			case now < 0 || now > left:
				x.Holder.Mark(renewedAfterDeath)
				return errors.Join(c.Del(ctx, x.Key).Err(), fmt.Errorf("%s has %s", x.Key, now))
			}
			left = now
			return fmt.Errorf("%s has %s", x.Key, now)
		})
	})
}

func boundedRenewal(ctx context.Context, x *clients.HolderProcess) {
	value := x.Resource.Read(x.Holder)
	x.B.Update(ctx, x.Resource) // when A's bound is reached
	x.A.Wait(ctx, history.Lose)
	x.Resource.Write(x.Holder, value+1)
}
