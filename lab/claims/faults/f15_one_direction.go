package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
)

var F15 = Experiments.Add(lab.Experiment{
	ID:       "F15-one-direction",
	Articles: lab.Articles{"A3"},
	Claim: `When a network carries one direction only, Redis lets two clients hold the lock, and what the old master has confirmed is gone
		when the network is whole again. RedLock, etcd and ZooKeeper have one holder all the time.`,
	Level: lab.Advanced,
	Schedule: lab.Schedule{
		Needs:  []lab.Need{lab.RedisServer},
		Slow:   true,
		Takes:  40 * time.Second,
		Trials: 1, // most variants start several servers, and wait for a real election
	},
	Check: clients.Any(history.Counter, clients.Noted(grantedAlone)),
	Variants: []lab.Variant{
		{Name: "whole network", Run: wholeNetwork},
		{
			Name: "Sentinel, the master is not heard", Expect: lab.Sometimes, Fault: true,
			Run: notHeard(replicatedSides(failovers.Sentinels, cutLease)),
		},
		{
			Name: "ZooKeeper, the leader is not heard", Fault: true, Needs: []lab.Need{lab.ZooKeeper},
			Run: notHeard(zooKeeperSides(majorityLease)),
		},
		healed("RedLock, replies are lost, then healed", faultproxy.ToServer, votesKept),
		healed("etcd, the leader hears nobody, then healed", faultproxy.ToServer, etcdSides(majorityLease), lab.Etcd),
		healed("etcd, the leader is not heard, then healed", faultproxy.ToClient, etcdSides(majorityLease), lab.Etcd),
		{Name: "Redis with replicas, cut, then healed", Expect: lab.Sometimes, Fault: true, Run: rejoined(false)},
		{Name: "Redis with replicas, cut, then healed, the token is checked", Fault: true, Run: rejoined(true)},
	},
})

// notHeard drops what the old master or leader sends. It still receives.
func notHeard(start startSides) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x, r := start(ctx, t), clients.NewResource(t, false)
		d := x.divide(ctx, r, faultproxy.ToClient)
		r.Write(d.b, d.read+1)
		_ = d.b.TryRelease(ctx)
		d.minority.askOther(ctx)
		d.measure()
	}
}

// healed is a variant of servers that need a majority. The network is mended while B holds the lock and has read. Then A requests it at the
// server that was cut off, and must be refused while B's lease is good.
func healed(name string, direction faultproxy.Direction, start startSides, needs ...lab.Need) lab.Variant {
	return lab.Variant{Name: name, Fault: true, Needs: needs, Run: func(ctx context.Context, t *lab.Trial) {
		x, r := start(ctx, t), clients.NewResource(t, false)
		d := x.divide(ctx, r, direction)
		d.cut.Mend()
		mended := time.Now()
		t.Heal(x.minority, "the network is whole again")
		x.c.Name = "C again"
		other := x.awaitGrant(ctx, x.c)
		t.Measure(MinoritySide, time.Since(mended).Milliseconds(), lab.Milliseconds.Of("from the end of the cut until C is granted its lock"))
		other.Release(ctx)
		x.a.UpdateOnce(ctx, r)
		d.finish(ctx, r)
		x.a.Update(ctx, r)
		d.measure()
	}}
}

// finish lets B write and release. Its lease may have ended only at servers that elect a leader once more: they do not renew it meanwhile.
func (d division) finish(ctx context.Context, r *clients.Resource) {
	var lost int64
	if d.b.Alive() {
		r.Write(d.b, d.read+1)
		_ = d.b.TryRelease(ctx) // the lease may end at this moment
	} else {
		lost = 1
		if !d.majority.electsAgain {
			d.majority.mustHold(d.b, "it wrote")
		}
	}
	d.majority.Measure("B", lost, lab.Count.Of("leases that ended after the cut"))
}

// awaitGrant requests the lock of a client until it is granted: its server may still look for the others.
func (x *sides) awaitGrant(ctx context.Context, c *clients.Client) (h *clients.LocalHolder) {
	x.Must(servers.Until(ctx, func(ctx context.Context) (err error) {
		h, err = c.TryAcquire(ctx, lockstrategy.TryOnce())
		return err
	}))
	return h
}

// votesKept are nodes of RedLock. It measures how many of the majority's keep a vote for C, which was refused.
func votesKept(ctx context.Context, t *lab.Trial) *sides {
	s := redLockSides(cutLease)(ctx, t)
	s.onRefusal = func(ctx context.Context) {
		var votes int64
		for _, n := range s.nodes {
			t.Must(n.WithClient(func(c *redis.Client) error {
				has, err := c.Exists(ctx, "redlock:"+otherKey).Result()
				votes += has
				return err
			}))
		}
		t.Measure(MajoritySide, votes, lab.Count.Of("votes for C, which was refused"))
	}
	return s
}

// viewsKey counts page views at the servers that keep the lock. It has the slot of LockKey.
const viewsKey = "views:{" + clients.LockKey + "}"

// rejoined lets A's server become a replica when the network is whole again. Before that it has counted a page view for A, and confirmed
// it. Or A writes a resource that checks tokens, when the network is whole and its lease is still good.
func rejoined(checks bool) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x, r := replicatedSides(failovers.MasterSlave, cutLease)(ctx, t), clients.NewResource(t, checks)
		h, value := holdWhole(ctx, x, r)
		h.Watch(ctx)
		cut, majority := x.cutOff(ctx, h, faultproxy.Both), &side{sides: x, name: MajoritySide}
		b := majority.askUntilGranted(ctx, h)
		read := r.Read(b)
		if !checks {
			x.countView(ctx, h)
		}
		x.mustHold(h, "the network was whole")
		cut.Mend()
		mended := time.Now()
		t.Heal(x.minority, "the network is whole again")
		if checks {
			r.Write(h, value+1)
		}
		r.Write(b, read+1)
		x.follow(ctx)
		t.Must(h.AwaitLoss(ctx))
		t.Measure("A", time.Since(mended).Milliseconds(), lab.Milliseconds.Of("from the end of the cut until A has learned of its loss"))
		x.compareOwners(ctx)
		x.recordViews(ctx)
		b.Release(ctx)
		x.b.Update(ctx, r)
	}
}

// countView counts a page view for A at the old master, where A holds the lock.
func (x *sides) countView(ctx context.Context, h *clients.LocalHolder) {
	x.Must(x.nodes[0].WithClient(func(c *redis.Client) error {
		n, err := c.Incr(ctx, viewsKey).Result()
		if err == nil {
			h.Record(history.Event{Kind: history.Write, Key: viewsKey, Value: n})
		}
		return err
	}))
}

// follow makes the old master a replica of the new one, as a sentinel does after some seconds, and waits until it has the new one's data.
func (x *sides) follow(ctx context.Context) {
	old, promoted := x.nodes[0], x.nodes[1]
	host, port, err := net.SplitHostPort(promoted.AnnouncedAddr())
	x.Must(err)
	x.Must(old.WithClient(func(c *redis.Client) error { return c.ReplicaOf(ctx, host, port).Err() }))
	x.Note("operator", fmt.Sprintf("REPLICAOF %s %s at %s", host, port, old.Name))
	x.Must(old.Await(ctx, func(ctx context.Context) error {
		link, err := old.Info(ctx, "replication", "master_link_status")
		if err == nil && link != "up" {
			err = errors.New("its connection to the new master is down")
		}
		return err
	}))
}

// compareOwners must find the same holder of the lock at the old master and the new one.
func (x *sides) compareOwners(ctx context.Context) {
	var owners [2][]string
	for i, n := range x.nodes[:2] {
		x.Must(n.WithClient(func(c *redis.Client) error {
			fields, err := c.HGetAll(ctx, clients.LockKey).Result()
			owners[i] = slices.Collect(maps.Keys(fields))
			return err
		}))
	}
	if len(owners[0]) != 1 || !slices.Equal(owners[0], owners[1]) {
		x.Must(fmt.Errorf("the old master has the holders %q, and the new one %q: one was expected, which is the same", owners[0], owners[1]))
	}
	x.Note(x.minority, "has the lock of B, and no other")
}

// recordViews records the page views that the old master has.
func (x *sides) recordViews(ctx context.Context) {
	x.Must(x.nodes[0].WithClient(func(c *redis.Client) error {
		n, err := c.Get(ctx, viewsKey).Int64()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		x.Record(history.Event{Timeline: x.minority, Kind: history.Final, Key: viewsKey, Value: n})
		return nil
	}))
}
