package faults

import (
	"context"
	"errors"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/history"
	"locklab/lockstrategy"
)

var F12 = experiments.Experiment{
	ID:       "F12-cap",
	Title:    "CAP: cut off from the majority",
	Articles: experiments.Articles{"A3"},
	Claim:    "When the network is cut, Redis lets both sides have the lock; RedLock, etcd and ZooKeeper refuse the side of the minority.",
	Says: `
		By the CAP theorem a distributed system has two of three: consistency, availability, tolerance of partitions. The third is not
		optional, so there are CP and AP systems. A lock needs CP, and a cluster of Redis is AP. So the article takes ZooKeeper or etcd where two
		holders are not acceptable.`,
	Errata: []experiments.Erratum{{
		Article: "A3", What: `
		A3 offers CP stores, ZooKeeper and etcd, as sufficient where two holders are not acceptable. A holder that is paused past its lease
		writes after its successor with both of them. Only a resource that checks the fencing token refuses that write.`,
		Where: "the analysis by CAP: `可以使用CP模型实现`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			The network is cut in two. A holds the lock, and its side has fewer servers than the other one. B requests the lock on the other
			side. C is beside A and requests a lock that nobody holds. What is each of them told, by each kind of server?`,
		Predict: `
			(a) Every kind refuses everybody until the network is whole. (b) Redis grants on both sides, and the others on the side of the
			majority only. (c) The others grant on the side of the majority, and so two clients can never write.`,
		Why: `
			(b). A server that is cut off has two choices: it answers alone, or it refuses. A master of Redis answers alone. It confirms A's
			lease, and grants C its lock. The other side gets a new master. That one even has A's lock, which was replicated, but no renewal
			reaches it. So the copy ends, B is granted the lock, and both write. A master of a Cluster does refuse, but only when it has missed the
			others for some time. It has confirmed A's lease before that. So the Cluster has neither of the two: C is refused, and the lock has
			two holders. RedLock, etcd and ZooKeeper need a majority for each answer. C is refused, and so is A's renewal. A counts its lease by
			its own clock, and stops before the majority grants the lock to B. That is consistency, and C pays for it. It ends at the servers. A
			paused A does not see the end of its lease. Its write goes to the resource, which asks no majority.`,
		Fix: `
			First ask what two holders would damage. If they only waste work, replicated Redis is enough. If they damage data, let the resource
			check the fencing token, whatever keeps the lock. A store with a majority makes two holders rarer, and its tokens grow on the
			side of the majority only. RedLock issues none.`,
		Limits: `
			One server is cut off, or two of five nodes of RedLock. No other division is tried, and no network that is cut in one direction or
			becomes whole again. Both sides reach the resource. Redis has no min-replicas-to-write here, which lets a master refuse when it has no
			replicas (F04). A Cluster with a shorter lease was not tried: A may then stop in time, and nothing promises that. CP and AP say what
			happens while the network is cut, and nothing of speed or of the death of a server.`,
		Next: `
			F01 to F03 (the master of Redis dies), F04 (WAIT and min-replicas-to-write), F09 and F10 (the leader of etcd or ZooKeeper dies).
			F11 cuts a holder off from the only server, and L11 pauses the holder of every lock. By hand: ` + "`app demo --versions v3,v4,v6,v7`.",
		Level: experiments.Advanced,
	},
	Drawing: `
                               ╳ the network is cut
A, Redis    ├─ lock ─ read 0 ──╳── renewed by the master on its side ──────── write 1   ↑ one update is lost
A, others   ├─ lock ─ read 0 ──╳── not renewed ─┤ its context ends
C, with A                      ╳ Redis: granted; the others: refused
B                              ╳ a new leader, if one is needed ─ lock ─ read 0 ─ write 1`,
	How: `
		Servers reach each other over fault proxies. A and C reach only the master or leader that is to be cut off, and B reaches the others. With
		RedLock they reach all five nodes, over proxies of each side. While the network is whole, A holds the lock and has read, C is granted
		another lock, and B is refused A's. Then the proxies drop everything between the sides. C requests its lock. When the side of the
		majority has a leader, B requests A's lock, once and then until it is granted. For replicas without Sentinel an operator promotes one.
		B reads. A writes if its lease's context has not ended, and then B writes. C requests its lock once more. What each side has granted and
		refused since the cut is counted. A's lease is two seconds, with etcd and ZooKeeper three. It is five in the Cluster, whose nodes miss
		each other after two: so A renews once more before its master refuses. In the last variants no network is cut. A is a process that is
		stopped past its lease, as in L11, and three servers keep the lock.`,
	Schedule: experiments.Schedule{
		Needs:  []experiments.Need{experiments.RedisServer},
		Slow:   true,
		Takes:  60 * time.Second,
		Trials: 1, // most variants start several servers, and wait for a real election
	},
	Check: clients.Any(history.Counter, clients.Noted(grantedAlone)),
	Variants: slices.Concat(
		[]experiments.Variant{
			{Name: "whole network", Run: wholeNetwork},
			cutOff("Redis with replicas", "v3", experiments.Sometimes, replicatedSides(failovers.MasterSlave, cutLease)),
			cutOff("Sentinel", "v3", experiments.Sometimes, replicatedSides(failovers.Sentinels, cutLease)),
			cutOff("Cluster", "v3", experiments.Sometimes, replicatedSides(slowCluster, clusterLease)),
			cutOff("RedLock", "v4", experiments.Never, redLockSides(cutLease)),
			cutOff("etcd", "v7", experiments.Never, etcdSides(majorityLease), experiments.Etcd),
			cutOff("ZooKeeper", "v6", experiments.Never, zooKeeperSides(majorityLease), experiments.ZooKeeper),
		},
		pausedOnMajority("etcd", "v7", lockstrategy.NameEtcd),
		pausedOnMajority("ZooKeeper", "v6", lockstrategy.NameZooKeeper),
	),
}

// The leases of A and B. ZooKeeper ends a lock after half of its lease.
const (
	cutLease      = 2 * time.Second
	majorityLease = 3 * time.Second

	// A renews each third of the lease, and so at least once before the master that is cut off notices that. And the others have replaced it
	// before the lease ends.
	clusterLease   = 5 * time.Second
	clusterTimeout = 2 * time.Second
)

// cutOff is a variant in which A's side is cut off from the majority of the servers.
func cutOff(name, version string, expect experiments.Expect, start startSides, needs ...experiments.Need) experiments.Variant {
	return experiments.Variant{
		Name: name + ", cut", Strategy: version, Expect: expect, Fault: true, Needs: needs,
		Run: func(ctx context.Context, t *experiments.Trial) {
			x, r := start(ctx, t), clients.NewResource(t, false)
			h, value := holdWhole(ctx, x, r)
			watched, unwatch := context.WithCancel(ctx)
			defer unwatch()
			h.Watch(watched)
			x.cutOff(ctx, h)
			minority, majority := &side{sides: x, name: MinoritySide}, &side{sides: x, name: MajoritySide}
			minority.askOther(ctx)
			b := majority.askUntilGranted(ctx, h)
			read := r.Read(b)
			if writeIfGood(t, h, r, value+1) {
				unwatch()
				_ = h.TryRelease(ctx) // its server may have noticed the cut
			} else {
				t.Must(h.AwaitLoss(ctx))
			}
			r.Write(b, read+1)
			_ = b.TryRelease(ctx)
			minority.askOther(ctx)
			minority.measure()
			majority.measure()
		},
	}
}

type startSides = func(context.Context, *experiments.Trial) *sides

func wholeNetwork(ctx context.Context, t *experiments.Trial) {
	x, r := replicatedSides(failovers.MasterSlave, cutLease)(ctx, t), clients.NewResource(t, false)
	h, value := holdWhole(ctx, x, r)
	r.Write(h, value+1)
	h.Release(ctx)
	x.b.Update(ctx, r)
}

// holdWhole lets A hold the lock and read while the network is whole. C is granted another lock then. B requests A's.
func holdWhole(ctx context.Context, x *sides, r *clients.Resource) (h *clients.Holder, value int64) {
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
func (s *side) ask(ctx context.Context, c *clients.Client, options ...lockstrategy.Option) *clients.Holder {
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
		return
	}
	if s.majority {
		s.Mark(s.name, grantedAlone)
	}
	_ = h.TryRelease(ctx) // its server may have noticed the cut
}

// askUntilGranted requests A's lock for B as soon as this side serves, and then waits for it.
func (s *side) askUntilGranted(ctx context.Context, a *clients.Holder) (b *clients.Holder) {
	s.awaitMajority(ctx, a)
	for b = s.ask(ctx, s.b, lockstrategy.TryOnce()); b == nil; b = s.ask(ctx, s.b) {
		continue
	}
	s.Measure(s.name, time.Since(s.cutAt).Milliseconds(), experiments.Milliseconds.Of("from the cut until the lock is granted there"))
	return b
}

func (s *side) measure() {
	s.Measure(s.name, s.granted, GrantedThere)
	s.Measure(s.name, s.refused, RefusedThere)
}

// writeIfGood lets A look at its lease while B holds the lock, and write if it is good: then two clients hold it. On a busy machine the
// context may end a little later than the lease.
func writeIfGood(t *experiments.Trial, a *clients.Holder, r *clients.Resource, value int64) (twice bool) {
	var n int64
	if twice = a.Lease.Context().Err() == nil && time.Now().Before(a.Lease.Until()); twice {
		n = 1
		r.Write(a, value)
	}
	t.Measure("both sides", n, HeldTwice)
	return twice
}

// pausedOnMajority are two variants in which A is paused, and no network is cut: without a token check, and with one.
func pausedOnMajority(name, version, strategy string) []experiments.Variant {
	h := clients.Holding{Strategy: strategy, Lease: majorityLease, Majority: true}
	return clients.PauseVariants(h, version, name+", A is paused", name+", A is paused, the token is checked")
}
