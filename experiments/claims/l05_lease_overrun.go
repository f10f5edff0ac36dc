package claims

import (
	"slices"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/naive"
)

var _ = register(experiments.Experiment{
	ID:      "L05-lease-overrun",
	Title:   "Lease expired during work",
	Article: "A0, A2",
	Claim:   "When work takes longer than the lease, two clients work simultaneously; renewal prevents it while the holder can renew.",
	Says: `
		A0 says that a comparison at the release does not help a holder whose lease has ended: another client holds the lock already. A0
		and A2 extend the lease while the work goes on.`,
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
	Anomaly: "lease expired during work",
	Takes:   31 * time.Second,
	Check:   history.Counter,
	Variants: slices.Concat([]experiments.Variant{
		{Name: "short work", Run: kit.WorkBesideWaiter(kit.LongLease, 0, lockstrategy.LeaseFor(time.Minute))},
		{
			Name: "long work", Expect: experiments.Sometimes,
			Run: kit.WorkBesideWaiter(kit.LongLease, 3*workLease, lockstrategy.LeaseFor(workLease)),
		},
		{Name: "long work, renewed", Strategy: "v3", Run: kit.RenewedWork(lockstrategy.NameRedis)},
		{
			Name: "long work: SET NX PX", Expect: experiments.Sometimes, Strategy: "SET NX PX",
			Run: kit.Interleaving(naive.Compare, kit.ExpiredDuringWork),
		},
		{
			Name: "long work: SET NX PX, DEL", Expect: experiments.Sometimes, Strategy: "SET NX PX, DEL",
			Run: kit.Interleaving(naive.PlainDEL, kit.ExpiredDuringWork),
		},
	}, kit.OtherLocks("long work, renewed", kit.RenewedWork)),
})

// workLease is the lease that is not renewed.
const workLease = 300 * time.Millisecond
