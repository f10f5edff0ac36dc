package anatomy

import (
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
)

var L07 = experiments.Experiment{
	ID:       "L07-explicit-lease",
	Articles: experiments.Articles{"A3"},
	Claim:    "A lease that is given explicitly is not renewed: work that lasts longer is not protected to its end.",
	Says:     "The listing takes the lock for three seconds. The text says that a watchdog extends it as long as the client holds it.",
	Elsewhere: `
		Redisson's RLock has lock(lease, unit) and tryLock(wait, lease, unit). It has no lock with a wait and a lease. A lock with a named
		lease is released after that time (https://redisson.pro/docs/data-and-services/locks-and-synchronizers/). The time of the watchdog
		is used only for a lock that was taken without a lease (https://redisson.pro/docs/configuration/).`,
	Errata: []experiments.Erratum{{
		Article: "A3", What: `
		A3 takes the lock by lock(2, 3, SECOND), which Redisson does not have. It may stand for lock(3, SECONDS), or for tryLock(2, 3,
		SECONDS). Both name a lease, and then Redisson starts no watchdog. A3 describes the watchdog as always on.`,
		Where: "DistributedRedisLock.acquire: `mylock.lock(2,3,TimeUtil.SECOND)`; the text on the watchdog: `就会启动一个watch dog看门狗`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A3's listing takes the lock for three seconds, and its text says that a watchdog extends the lock while the client holds it. The work
			lasts longer than that. Is the lock extended?`,
		Predict: "(a) Yes, because the watchdog is always on. (b) No: it is over when the named lease ends. (c) Yes, once.",
		Why: `
			(b). It is not extended. A caller that names a lease asks for a lock that ends by then, and so nothing renews it. Our lock does what
			Redisson documents: its watchdog works only where no lease was named. B enters while A still works, reads what A has read, and one
			update is lost. Without the argument the lease is renewed, and B waits.`,
		Fix: `
			Name no lease for work whose duration you do not know. Name one where a holder that hangs must not block the others, and check the
			fencing token there. The work still has to end with the lease's context.`,
		Limits: `
			The run uses our lock, and not Redisson. A looks at nothing: a holder that works under its lease's context would stop in time. That
			A3's call does not exist is no result of a run.`,
		Next: `
			L05-lease-overrun shows the same overlap with other locks, and L06-watchdog-ends where renewal stops. L10-set-without-nx shows what
			follows when the answer of A3's acquire is ignored.`,
		Level: experiments.Medium,
	},
	Drawing: `
A  ├─ explicit lease ─┤            (still at work)        write 1
B  waits              ├─ read 0, write 1 ─┤                ↑ B's update is lost
A  ├─ no lease named: renewed, renewed, renewed ── write 1 ─┤
B  waits                                                    ├─ read 1, write 2 ─┤`,
	How: `
		A takes the lock, reads, and works for two leases, or until B has been in the section. Then it writes. B waits for the lock from the
		beginning. The variants differ in one argument of A's: the lease.`,
	Schedule: experiments.Schedule{Takes: 5 * time.Second},
	Check:    history.Counter,
	Variants: []experiments.Variant{
		{Name: "no lease named", Run: clients.WorkBesideWaiter(namedLease, 2*namedLease, 0)},
		{
			Name: "a lease named", Expect: experiments.Sometimes,
			Run: clients.WorkBesideWaiter(namedLease, 2*namedLease, namedLease),
		},
	},
}

// namedLease is both leases: the one that is named, and the one that is renewed.
const namedLease = 500 * time.Millisecond
