package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "F12-cap",
	Title:   "CAP: the holder's side is cut off from the majority",
	Article: "A3",
	Claim:   "TODO.",
	Says: `
		TODO`,
	Needs:  []experiments.Need{experiments.RedisServer},
	Slow:   true,
	Takes:  60 * time.Second,
	Trials: 1, // most variants start several servers, and wait for a real election
	Check:  history.Counter,
	Variants: slices.Concat(
		[]experiments.Variant{
			{Name: "whole network", Run: wholeNetwork},
			cutOff("Redis with replicas", "v3", experiments.Sometimes, kit.ReplicatedSides(kit.MasterSlave, cutLease)),
			cutOff("Sentinel", "v3", experiments.Sometimes, kit.ReplicatedSides(kit.Sentinels, cutLease)),
			cutOff("Cluster", "v3", experiments.Sometimes, kit.ReplicatedSides(slowCluster, clusterLease)),
			cutOff("RedLock", "v4", experiments.Never, kit.RedLockSides(cutLease)),
			cutOff("etcd", "v7", experiments.Never, kit.EtcdSides(majorityLease), experiments.Etcd),
			cutOff("ZooKeeper", "v6", experiments.Never, kit.ZooKeeperSides(majorityLease), experiments.ZooKeeper),
		},
		pausedOnMajority("etcd", "v7", lockstrategy.NameEtcd),
		pausedOnMajority("ZooKeeper", "v6", lockstrategy.NameZooKeeper),
	),
})

// The leases of A and B.
const (
	cutLease      = 2 * time.Second
	majorityLease = 3 * time.Second // ends after half of that in ZooKeeper

	// A renews each third of the lease, and so at least once before the master that is cut off notices that. And the others have replaced it
	// before the lease ends.
	clusterLease   = 5 * time.Second
	clusterTimeout = 2 * time.Second
)

// slowCluster is a cluster that misses a node after clusterTimeout.
func slowCluster(ctx context.Context, t *experiments.Trial) *kit.Replicated {
	x := kit.Clustered(ctx, t)
	x.NodeTimeout(ctx, clusterTimeout)
	return x
}

// cutOff is a variant in which A's side is cut off from the majority of the servers.
func cutOff(name, version string, expect experiments.Expect, start startSides, needs ...experiments.Need) experiments.Variant {
	return experiments.Variant{
		Name: name + ", cut", Strategy: version, Expect: expect, Fault: true, Needs: needs,
		Run: func(ctx context.Context, t *experiments.Trial) {
			x, r := start(ctx, t), kit.NewResource(t, false)
			h, value := holdWhole(ctx, x, r)
			watched, unwatch := context.WithCancel(ctx)
			defer unwatch()
			h.Watch(watched)
			x.Cut(ctx, h)
			minority, majority := &side{Trial: t, name: kit.MinoritySide}, &side{Trial: t, name: kit.MajoritySide}
			minority.askBeside(ctx, x.C)
			b := majority.askUntilGranted(ctx, x, h)
			read := r.Read(b)
			if writeIfGood(t, h, r, value+1) {
				unwatch()
				_ = h.TryRelease(ctx) // its server may have noticed the cut
			} else {
				t.Must(h.AwaitLoss(ctx))
			}
			r.Write(b, read+1)
			b.Release(ctx)
			minority.askBeside(ctx, x.C)
			minority.measure()
			majority.measure()
		},
	}
}

type startSides = func(context.Context, *experiments.Trial) *kit.Sides

func wholeNetwork(ctx context.Context, t *experiments.Trial) {
	x, r := kit.ReplicatedSides(kit.MasterSlave, cutLease)(ctx, t), kit.NewResource(t, false)
	h, value := holdWhole(ctx, x, r)
	r.Write(h, value+1)
	h.Release(ctx)
	x.B.Update(ctx, r)
}

// holdWhole lets A hold the lock and read while the network is whole. C is granted another lock then, and B is refused A's.
func holdWhole(ctx context.Context, x *kit.Sides, r *kit.Resource) (h *kit.Holder, value int64) {
	h = x.A.Acquire(ctx)
	value = r.Read(h)
	x.C.Acquire(ctx).Release(ctx)
	if _, err := x.B.TryAcquire(ctx, lockstrategy.TryOnce()); !errors.Is(err, lockstrategy.ErrTaken) {
		x.Must(fmt.Errorf("the network is whole, and B should have been told that A has the lock, not: %w", err))
	}
	return h, value
}

// side is one of the two, and what it has answered since the cut.
type side struct {
	*experiments.Trial
	name             string
	granted, refused int64
}

// ask requests a lock for a client. It returns nil when that was refused.
func (s *side) ask(ctx context.Context, c *kit.Client, options ...lockstrategy.Option) *kit.Holder {
	h, err := c.TryAcquire(ctx, options...)
	if err == nil {
		s.granted++
		return h
	}
	if ctx.Err() != nil || !errors.Is(err, lockstrategy.ErrNotAcquired) {
		s.Must(err)
	}
	s.refused++
	return nil
}

// askBeside requests a lock that nobody holds.
func (s *side) askBeside(ctx context.Context, c *kit.Client) {
	if h := s.ask(ctx, c, lockstrategy.TryOnce()); h != nil {
		_ = h.TryRelease(ctx) // its server may have noticed the cut
	}
}

// askUntilGranted requests A's lock for B as soon as this side serves, and then waits for it.
func (s *side) askUntilGranted(ctx context.Context, x *kit.Sides, a *kit.Holder) (b *kit.Holder) {
	began := time.Now()
	x.AwaitMajority(ctx, a)
	for b = s.ask(ctx, x.B, lockstrategy.TryOnce()); b == nil; b = s.ask(ctx, x.B) {
		continue
	}
	s.Measure(s.name, time.Since(began).Milliseconds(), "ms from the cut until the lock is granted there")
	return b
}

func (s *side) measure() {
	s.Measure(s.name, s.granted, kit.GrantedThere)
	s.Measure(s.name, s.refused, kit.RefusedThere)
}

// writeIfGood lets A look at its lease while B holds the lock, and write if it is good: then the lock is granted twice.
func writeIfGood(t *experiments.Trial, a *kit.Holder, r *kit.Resource, value int64) (twice bool) {
	var n int64
	if twice = a.Lease.Context().Err() == nil; twice {
		n = 1
		r.Write(a, value)
	}
	t.Measure("both sides", n, "locks that two clients held")
	return twice
}

// pausedOnMajority are two variants in which A is paused, and no network is cut: without a token check, and with one.
func pausedOnMajority(name, version, strategy string) []experiments.Variant {
	variants := make([]experiments.Variant, 2)
	for i := range variants {
		checks := i == 1
		variants[i] = experiments.Variant{
			Name: name + ", A is paused", Anomaly: "pause", Expect: experiments.Sometimes, Strategy: version, Fault: true,
			Needs: kit.NeedsOf(strategy),
			Run:   kit.InProcess(kit.Holding{Strategy: strategy, Majority: true, Checks: checks}, kit.PausePastLease),
		}
	}
	variants[1].Name, variants[1].Anomaly, variants[1].Expect = name+", A is paused, the token is checked", "pause with fencing token", experiments.Never
	return variants
}
