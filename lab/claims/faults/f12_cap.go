package faults

import (
	"context"
	"errors"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
)

var F12 = Experiments.Add(lab.Experiment{
	ID:       "F12-cap",
	Articles: lab.Articles{"A3"},
	Claim:    "When the network is cut, Redis lets both sides have the lock; RedLock, etcd and ZooKeeper refuse the side of the minority.",
	Level:    lab.Advanced,
	Anomaly:  "network cut in two",
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.RedisServer},
		Slow:   true,
		Takes:  40 * time.Second,
		Trials: 1, // most variants start several servers, and wait for a real election
	},
	Check: clients.Any(history.Counter, clients.Noted(grantedAlone)),
	Variants: []lab.Variant{
		{Name: "whole network", Run: wholeNetwork},
		cutOff("Redis with replicas", "v3", lab.Sometimes, replicatedSides(failovers.MasterSlave, cutLease)),
		cutOff("Sentinel", "v3", lab.Sometimes, replicatedSides(failovers.Sentinels, cutLease)),
		cutOff("Sentinel, min-replicas-to-write 1", "v3", lab.Sometimes, replicatedSides(sentinelsWithLag, refusedLease)),
		cutOff("Cluster", "v3", lab.Sometimes, replicatedSides(slowCluster, refusedLease)),
		cutOff("RedLock", "v4", lab.Never, redLockSides(cutLease)),
		cutOff("etcd", "v7", lab.Never, etcdSides(majorityLease), lab.Etcd),
		cutOff("ZooKeeper", "v6", lab.Never, zooKeeperSides(majorityLease), lab.ZooKeeper),
	},
})

// The leases of A and B. ZooKeeper ends a lock after half of its lease.
const (
	cutLease      = 2 * time.Second
	majorityLease = 3 * time.Second

	// A renews each third of the lease, and so at least once before the master that is cut off notices that. And the others have replaced it
	// before the lease ends.
	refusedLease   = 5 * time.Second
	clusterTimeout = 2 * time.Second
	reportLag      = 2 * time.Second
)

// cutOff is a variant in which A's side is cut off from the majority of the servers.
func cutOff(name, version string, expect lab.Expect, start startSides, needs ...lab.Need) lab.Variant {
	return lab.Variant{
		Name: name + ", cut", Strategy: version, Expect: expect, Fault: true, Needs: needs,
		Run: func(ctx context.Context, t *lab.Trial) {
			x, r := start(ctx, t), clients.NewResource(t, false)
			d := x.divide(ctx, r, faultproxy.Both)
			r.Write(d.b, d.read+1)
			_ = d.b.TryRelease(ctx)
			d.minority.askOther(ctx)
			d.measure()
		},
	}
}

// division is a network that is cut while A held the lock. The majority has granted it to B, which has read.
type division struct {
	minority, majority *side
	cut                *servers.Isolation
	b                  *clients.LocalHolder
	read               int64
}

// divide cuts the network in a direction while A holds the lock, and lets the clients ask both sides. When B has read, A writes if its
// lease is good, and has released or lost it when divide returns.
func (x *sides) divide(ctx context.Context, r *clients.Resource, direction faultproxy.Direction) (d division) {
	h, value := holdWhole(ctx, x, r)
	watched, unwatch := context.WithCancel(ctx)
	defer unwatch()
	h.Watch(watched)
	d.cut = x.cutOff(ctx, h, direction)
	d.minority, d.majority = &side{sides: x, name: MinoritySide}, &side{sides: x, name: MajoritySide}
	d.minority.askOther(ctx)
	d.b = d.majority.askUntilGranted(ctx, h)
	d.read = r.Read(d.b)
	if writeIfGood(x.Trial, h, r, value+1) {
		unwatch()
		_ = h.TryRelease(ctx) // its server may have noticed the cut
	} else {
		x.Must(h.AwaitLoss(ctx))
	}
	return d
}

// measure records what each side has answered since the cut.
func (d division) measure() {
	for _, s := range []*side{d.minority, d.majority} {
		s.Measure(s.name, s.granted, GrantedThere)
		s.Measure(s.name, s.refused, RefusedThere)
	}
}

type startSides = func(context.Context, *lab.Trial) *sides

func wholeNetwork(ctx context.Context, t *lab.Trial) {
	x, r := replicatedSides(failovers.MasterSlave, cutLease)(ctx, t), clients.NewResource(t, false)
	h, value := holdWhole(ctx, x, r)
	r.Write(h, value+1)
	h.Release(ctx)
	x.b.Update(ctx, r)
}

// holdWhole lets A hold the lock and read while the network is whole. C is granted another lock then. B requests A's.
func holdWhole(ctx context.Context, x *sides, r *clients.Resource) (h *clients.LocalHolder, value int64) {
	h = x.a.Acquire(ctx)
	value = r.Read(h)
	x.c.Acquire(ctx).Release(ctx)
	x.b.UpdateOnce(ctx, r)
	return h, value
}

// side is one of the two, and what it has answered since the cut.
type side struct {
	*sides
	name             string
	granted, refused int64
}

// ask requests a lock for a client. It returns nil when that was refused.
func (s *side) ask(ctx context.Context, c *clients.Client, options ...lockstrategy.Option) *clients.LocalHolder {
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

// grantedAlone is the text of a grant that needs a majority, and had none.
var grantedAlone = history.Mark{Name: "it granted a lock, although it has no majority"}

// askOther requests a lock that nobody holds for C.
func (s *side) askOther(ctx context.Context) {
	h := s.ask(ctx, s.c, lockstrategy.TryOnce())
	if h == nil {
		if s.onRefusal != nil {
			s.onRefusal(ctx)
		}
		return
	}
	if s.majority {
		s.Mark(s.name, grantedAlone)
	}
	_ = h.TryRelease(ctx) // its server may have noticed the cut
}

// askUntilGranted requests A's lock for B as soon as this side serves, and then waits for it.
func (s *side) askUntilGranted(ctx context.Context, a *clients.LocalHolder) (b *clients.LocalHolder) {
	s.awaitMajority(ctx, a)
	for b = s.ask(ctx, s.b, lockstrategy.TryOnce()); b == nil; b = s.ask(ctx, s.b) {
		continue
	}
	s.Measure(s.name, time.Since(s.cutAt).Milliseconds(), lab.Milliseconds.Of("from the cut until the lock is granted there"))
	return b
}

// writeIfGood lets A look at its lease while B holds the lock, and write if it is good: then two clients hold it. On a busy machine the
// context may end a little later than the lease.
func writeIfGood(t *lab.Trial, a *clients.LocalHolder, r *clients.Resource, value int64) (twice bool) {
	var n int64
	if twice = a.Lease.Context().Err() == nil && time.Now().Before(a.Lease.Until()); twice {
		n = 1
		r.Write(a, value)
	}
	t.Measure("both sides", n, HeldTwice)
	return twice
}
