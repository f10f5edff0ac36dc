package services

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy/redislock"
	"locklab/topology"
	"locklab/versions"
)

const (
	chaosLease = 300 * time.Millisecond // ends while an instance is paused
	chaosThink = 20 * time.Millisecond  // between reading and writing an order
	chaosPhase = 500 * time.Millisecond // for how long one kind of fault goes on
	chaosRound = 4 * time.Second        // of page views
	chaosWait  = 30 * time.Second       // for the lock, as the app's default

	chaosAtMost = 5 // times For, on a machine that is too slow for each fault to happen in For
)

// Chaos is two instances under load. Meanwhile an administrator, pauses and failovers do to their lock whatever takes it from its holder.
type Chaos struct {
	Version  string
	Topology topology.Kind // empty: single; with Sentinel the master is replaced, too
	For      time.Duration // at least, and until each kind of fault happened
	Calm     bool          // without faults
	NoToken  bool          // v3's, without the check of its token: the instances are [ViewService]s, for page views only
}

// chaos is a run.
type chaos struct {
	Chaos
	*lab.Trial
	burst.Running
	over  context.Context         // ends when the time is over
	nodes []redis.UniversalClient // that keep the lock
	admin *redislock.Lock         // of the Redis lock
	taken int64                   // how many keys the administrator has deleted or freed, when the time is over
}

// Views lets 20 clients send page views, in rounds that begin at zero: the checks of one long history would take too long.
func (c Chaos) Views(ctx context.Context, t *lab.Trial) {
	x := c.start(ctx, t)
	var confirmed, lost, stale, failed int
	for round := 1; x.over.Err() == nil; round++ {
		key := fmt.Sprintf("%s, round %d", burst.CounterKey, round)
		end, stop := context.WithTimeout(x.over, chaosRound)
		b, err := burst.SustainViews(ctx, x.Target, c.Version, Drivers, end.Done(), nil)
		stop()
		t.Must(err)
		for i := range b.Events {
			b.Events[i].Key, b.Events[i].Owner = key, b.Events[i].Owner+" of round "+fmt.Sprint(round)
		}
		RecordBurst(t, b.Began, b.Events)
		t.Record(history.Event{Timeline: "Redis", Kind: history.Final, Key: key, Value: b.Final})
		confirmed, lost, stale, failed = confirmed+len(b.Writes), lost+b.Lost(), stale+len(b.Stale), failed+len(b.Failed)
	}
	t.Measure(c.Version, int64(confirmed), lab.Count.Of("page views that were confirmed"))
	t.Measure(c.Version, int64(lost), lab.Count.Of("page views that were confirmed and lost"))
	t.Measure(c.Version, int64(stale), lab.Count.Of("stale holders that were refused"))
	t.Measure(c.Version, int64(failed), lab.Count.Of("requests without a usable answer"))
	if x.taken > 0 {
		t.Measure(c.Version, x.taken, lab.Count.Of("keys of locks and tokens deleted, or freed by force"))
	}
}

// Orders lets 20 drivers grab an order, and then the next one.
func (c Chaos) Orders(ctx context.Context, t *lab.Trial) {
	x := c.start(ctx, t)
	var orders, won, stale, failed int64
	for ; x.over.Err() == nil; orders++ {
		b := Service{Version: c.Version}.RecordGrabs(ctx, t, x.Target)
		won, stale, failed = won+int64(min(1, b.Winners())), stale+int64(len(b.Stale)), failed+int64(len(b.Failed))
	}
	t.Measure(c.Version, orders, lab.Count.Of("orders"))
	t.Measure(c.Version, won, lab.Count.Of("orders that a driver has"))
	t.Measure(c.Version, stale, lab.Count.Of("stale holders that were refused"))
	t.Measure(c.Version, failed, lab.Count.Of("requests without a usable answer"))
}

// start starts the servers, and breaks the lock beside what follows.
func (c Chaos) start(ctx context.Context, t *lab.Trial) *chaos {
	over, end := context.WithCancel(ctx)
	x := &chaos{Chaos: c, Trial: t, Running: c.service(ctx, t), over: over}
	x.connect(ctx)
	t.Go(func() {
		defer end()
		enough, cancel := context.WithTimeout(ctx, c.For)
		defer cancel()
		if c.Calm {
			<-enough.Done()
			return
		}
		longest, stop := context.WithTimeout(ctx, min(chaosAtMost*c.For, max(c.For, t.Scaled(2*time.Minute)))) // a trial is bounded, too
		defer stop()
		x.breakLocks(longest, enough)
	})
	return x
}

// service starts two instances and their servers.
func (c Chaos) service(ctx context.Context, t *lab.Trial) burst.Running {
	if c.NoToken {
		both, redis := ViewService{Lease: chaosLease, Wait: chaosWait}.StartTwo(ctx, t)
		instances := []*servers.Instance{both[0].Instance, both[1].Instance}
		balancer, err := t.Stack.Balance("127.0.0.1:0", instances...)
		t.Must(err)
		return burst.Running{Target: burst.Target{URL: balancer.URL}, Balancer: balancer, Instances: instances, Redis: redis}
	}
	if len(t.App) == 0 {
		t.Must(ErrNoApp)
	}
	running, err := burst.Service{
		App: t.App, Topology: string(cmp.Or(c.Topology, topology.Single)), Real: t.Real, Instances: 2, Named: true, Think: chaosThink,
		Servers: versions.RequiredServers(c.Version),
		Lease:   chaosLease, Listen: "127.0.0.1:0",
	}.Start(ctx, t.Stack, nil)
	t.Must(err)
	return running
}

// connect connects to the servers that keep the lock.
func (x *chaos) connect(ctx context.Context) {
	if x.Version == "v4" {
		q := failovers.Quorum{Trial: x.Trial}
		x.nodes = q.Connect(ctx, servers.Addrs(x.RedLock))
		return
	}
	conn := clients.Connect(ctx, x.Trial, x.Redis)
	x.nodes, x.admin = []redis.UniversalClient{conn}, clients.RedisLock(x.Trial, "admin", conn, clients.LongLease).Admin
}

const pausedPastLease = "an instance paused past its lease"

// breakLocks breaks locks in one way after the other, and records the faults with their proofs. It ends when enough has ended and each
// fault happened, and with ctx at the latest. On a slow machine a phase may find no lock that is held.
func (x *chaos) breakLocks(ctx, enough context.Context) {
	type fault struct {
		name  string
		once  func(context.Context) int64
		times int64
	}
	faults := []*fault{
		{name: "locks deleted", once: phase(x.deleteLocks)},
		{name: "locks and token counters deleted", once: phase(x.deleteLocksAndTokens)},
		{name: "locks freed by force", once: phase(x.force)},
		{name: pausedPastLease, once: x.pause},
	}
	if x.Topology == topology.Sentinel {
		faults = append(faults, &fault{name: "the master replaced", once: x.failOver})
	}
	v, _ := versions.Find(x.Version)
	missing := func(f *fault) bool { return f.times == 0 && (v.Server() != "" || f.name == pausedPastLease) } // v1 has no lock to be broken
	for i := 0; ctx.Err() == nil && (enough.Err() == nil || slices.ContainsFunc(faults, missing)); i++ {
		f := faults[i%len(faults)]
		n := f.once(ctx)
		if f.times += n; f.name != pausedPastLease && v.Server() != "" {
			x.taken += n
		}
	}
	for _, f := range faults {
		if f.times > 0 {
			x.Fault("admin", f.name, fmt.Sprintf("confirmed %d times", f.times))
		}
	}
}

// phase repeats a fault for a while, without a pause, and counts how often it happened.
func phase(once func(ctx context.Context) int64) func(context.Context) int64 {
	return func(ctx context.Context) (times int64) {
		ctx, cancel := context.WithTimeout(ctx, chaosPhase)
		defer cancel()
		for ctx.Err() == nil {
			times += once(ctx)
		}
		return times
	}
}

func (x *chaos) deleteLocks(ctx context.Context) int64 {
	return x.remove(ctx, "lock:*", "redlock:lock:*")
}

func (x *chaos) deleteLocksAndTokens(ctx context.Context) int64 { return x.remove(ctx, "*lock:*") }

// remove removes the keys of these patterns, in one command for each server. A server that is being replaced refuses it.
func (x *chaos) remove(ctx context.Context, patterns ...string) (n int64) {
	for _, node := range x.nodes {
		var keys []string
		for _, pattern := range patterns {
			found, _ := node.Keys(ctx, pattern).Result()
			keys = append(keys, found...)
		}
		if len(keys) > 0 {
			gone, _ := node.Del(ctx, keys...).Result()
			n += gone
		}
	}
	return n
}

// force frees the locks as an administrator does. RedLock has no way of its own: there the keys are deleted.
func (x *chaos) force(ctx context.Context) (n int64) {
	if x.admin == nil {
		return x.deleteLocks(ctx)
	}
	keys, _ := x.nodes[0].Keys(ctx, "lock:*").Result()
	for _, key := range keys {
		if freed, _ := x.admin.ForceUnlock(ctx, key); freed {
			n++
		}
	}
	return n
}

// pause stops one instance for longer than its lease.
func (x *chaos) pause(ctx context.Context) int64 {
	instance := x.Instances[x.Rand.IntN(len(x.Instances))]
	x.Must(instance.Pause())
	defer instance.Resume()
	select {
	case <-time.After(2 * chaosLease):
		return 1
	case <-ctx.Done():
		return 0
	}
}

// failOver lets the sentinels replace the master, which accepts writes until it learns of it. Then those are lost.
func (x *chaos) failOver(ctx context.Context) int64 {
	f, err := x.Redis.FailOver(ctx, burst.CounterKey)
	if err == nil {
		err = f.Named(ctx)
	}
	if err != nil {
		return 0 // the time is over
	}
	return 1
}
