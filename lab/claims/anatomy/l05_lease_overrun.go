package anatomy

import (
	"context"
	"slices"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy"
	"locklab/lockstrategy/articlelock"
	"locklab/versions"
)

var L05 = Experiments.Add(lab.Experiment{
	ID:       "L05-lease-overrun",
	Articles: lab.Articles{"A0", "A2", "A3", "A4"},
	Claim:    "When work takes longer than the lease, two clients work simultaneously; renewal prevents it while the holder can renew.",
	Level:    lab.Medium,
	Start:    true,
	Anomaly:  clients.FixedLease,
	Schedule: lab.Schedule{Takes: 40 * time.Second},
	Check:    history.Counter,
	Variants: slices.Concat([]lab.Variant{
		{Name: "short work", Run: clients.WorkBesideWaiter(clients.LongLease, 0, time.Minute)},
		{
			Name: "long work", Expect: lab.Sometimes, Strategy: "v3",
			Run: clients.WorkBesideWaiter(clients.LongLease, 3*workLease, workLease),
		},
		{Name: "long work, renewed", Strategy: "v3", Anomaly: clients.RenewedLease, Run: renewedWork(versions.NameRedis)},
		{
			Name: "long work: SET NX PX", Expect: lab.Sometimes, Strategy: "SET NX PX",
			Run: clients.Interleaving(articlelock.Compare, clients.ExpiredDuringWork),
		},
		{
			Name: "long work: SET NX PX, DEL", Expect: lab.Sometimes, Strategy: "SET NX PX, DEL",
			Run: clients.Interleaving(articlelock.PlainDEL, clients.ExpiredDuringWork),
		},
	},
		otherLocks("long work", fixedWork, lab.Sometimes, ""),
		clients.Slow(otherLocks("long work, renewed", renewedWork, lab.Never, clients.RenewedLease))),
})

// otherLocks are variants of every lock but v3, which has its own.
func otherLocks(name string, work func(strategy string) lab.Scenario, expect lab.Expect, anomaly string) []lab.Variant {
	all := clients.Locks(name, work)[1:]
	for i := range all {
		all[i].Expect, all[i].Anomaly = expect, anomaly
	}
	return all
}

// workLease is the lease that is not renewed.
const workLease = 300 * time.Millisecond

// renewedWork is work for three leases of any lock, which is renewed, beside a client that waits.
func renewedWork(strategy string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		s, lease := clients.StartLock(ctx, t, strategy), t.Scaled(clients.LeaseOf(strategy))
		clients.WorkBeside(ctx, s.NewClient(ctx, "A", lease), s.NewClient(ctx, "B", lease), 3*lease)
	}
}

// fixedWork is the same work under a lease that the holder has named, which is not renewed.
func fixedWork(strategy string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		s, lease := clients.StartLock(ctx, t, strategy), t.Scaled(clients.LeaseOf(strategy))
		a, b := s.NewClient(ctx, "A", lease), s.NewClient(ctx, "B", lease)
		clients.WorkBeside(ctx, a, b, 3*lease, lockstrategy.LeaseFor(lease))
	}
}
