package anatomy

import (
	"context"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

var L05 = experiments.Experiment{
	ID:       "L05-lease-overrun",
	Title:    "Lease expired during work",
	Articles: experiments.Articles{"A0", "A2", "A3", "A4"},
	Claim:    "When work takes longer than the lease, two clients work simultaneously; renewal prevents it while the holder can renew.",
	Says: `
		A0 says that a comparison at the release does not help a holder whose lease has ended: another client holds the lock already. A3
		says that a plain lease cannot be extended, and the lock cannot be used after it. A0 and A2 extend the lease while the work goes on,
		and so does the watchdog that A3 and A4 describe.`,
	Lesson: experiments.Lesson{
		Question: `
			A client takes the lock for a fixed lease. Its work lasts longer than the lease, and it does not look whether it still holds the
			lock. Another client waits. What happens to the two writes?`,
		Predict: `
			(a) The second client waits until the first one releases. (b) Both work simultaneously, and one update is lost. (c) The first one's
			write is refused.`,
		Why: `
			(b). One update is lost. Redis deletes the key when the lease ends, whatever the holder does, and the second client takes the lock
			correctly. It reads what the first one has read. A comparison at the release comes too late: it protects the lock, and the write has
			been done. With renewal the holder extends the lease in time, again and again. So it does not end while the holder runs.`,
		Fix: `
			Renew the lease while the work goes on. Then the lease need not be as long as the work, only as long as you can wait after a crash.
			Work under the lease's context, which ends when the lock is lost. Check the fencing token at the resource, for a holder that does not
			notice.`,
		Limits: `
			Renewal helps a holder that runs and reaches Redis. A paused holder renews nothing (L11), and a holder that is cut off cannot (F11).
			A holder that hangs and renews blocks the others, unless its renewal is bounded (L06).`,
		Next: "L07-explicit-lease switches renewal off by one argument. L11-pause-past-lease stops the holder, and shows the fencing token. In " +
			"`app lab step L03` you can let a lease end in the middle of the work.",
		Level: experiments.Medium,
		Start: true,
	},
	Drawing: `
A  ├─ lease ──┤            (works on, without looking)          write 1
B             ├─ lease: read 0, write 1 ─┤                       ↑ B's update is lost`,
	How: `
		A takes the lock with an explicit lease, and reads. It works on without looking at its lease's context until B has held the lock. Then
		it writes. With renewal it works for three leases. SET NX PX has no renewal, and no context to look at. A renewed lease is half a
		second, or one second where the servers count whole seconds or sessions.`,
	Anomaly:  "lease expired during work",
	Schedule: experiments.Schedule{Takes: 31 * time.Second},
	Check:    history.Counter,
	Variants: slices.Concat([]experiments.Variant{
		{Name: "short work", Run: clients.WorkBesideWaiter(clients.LongLease, 0, time.Minute)},
		{
			Name: "long work", Expect: experiments.Sometimes,
			Run: clients.WorkBesideWaiter(clients.LongLease, 3*workLease, workLease),
		},
		{Name: "long work, renewed", Strategy: "v3", Run: renewedWork(lockstrategy.NameRedis)},
		{
			Name: "long work: SET NX PX", Expect: experiments.Sometimes, Strategy: "SET NX PX",
			Run: clients.Interleaving(naive.Compare, clients.ExpiredDuringWork),
		},
		{
			Name: "long work: SET NX PX, DEL", Expect: experiments.Sometimes, Strategy: "SET NX PX, DEL",
			Run: clients.Interleaving(naive.PlainDEL, clients.ExpiredDuringWork),
		},
	}, clients.OtherLocks("long work, renewed", renewedWork)),
}

// workLease is the lease that is not renewed.
const workLease = 300 * time.Millisecond

// renewedWork is work for three leases of any lock, which is renewed, beside a client that waits.
func renewedWork(strategy string) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		s, lease := clients.StartLock(ctx, t, strategy), t.Scaled(clients.LeaseOf(strategy))
		clients.WorkBeside(ctx, s.NewClient(ctx, "A", lease), s.NewClient(ctx, "B", lease), 3*lease)
	}
}
