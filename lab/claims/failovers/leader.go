package failovers

import (
	"context"
	"errors"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/servers"
	"locklab/lockstrategy"
)

// Server is a server of such a group.
type Server interface {
	servers.Server
	comparable
}

// Electing is a group of servers that elect a leader.
type Electing[N Server] struct {
	*lab.Trial
	Nodes  []N
	Leader N

	find       func(context.Context, []N) (leader N, err error)
	newClient  func(ctx context.Context, name string, lease time.Duration, nodes []N) *clients.Client
	awaitQueue func(ctx context.Context, n int)
}

// FindLeader waits until a server leads, and notes which.
func (x *Electing[N]) FindLeader(ctx context.Context) {
	leader, err := x.find(ctx, x.Nodes)
	x.Must(err)
	x.Leader = leader
	x.Note(leader.String(), "it leads")
}

// NewClient returns a client of the lock that knows some of the servers; none is all of them.
func (x *Electing[N]) NewClient(ctx context.Context, name string, lease time.Duration, nodes ...N) *clients.Client {
	if len(nodes) == 0 {
		nodes = x.Nodes
	}
	return x.newClient(ctx, name, lease, nodes)
}

// Election is an experiment with three servers in which the leader is killed while A holds the lock and B waits.
type Election[N Server] struct {
	Start func(ctx context.Context, t *lab.Trial, n int) *Electing[N]
	Lease time.Duration // outlives an election
	Probe time.Duration // the lease of the client that measures: it waits a third of it for an answer
}

// Variants are those of the experiment, with a version's lock. The control kills nothing.
func (e Election[N]) Variants(version string) []lab.Variant {
	return []lab.Variant{
		{Name: "no kill", Run: e.Reached(false)},
		{Name: "leader killed, A reaches the others", Strategy: version, Fault: true, Run: e.Reached(true)},
		{Name: "leader killed, A reaches none", Fault: true, Run: e.Alone(true, false)},
		{Name: "leader killed, A reaches none and does not look", Expect: lab.Sometimes, Fault: true, Run: e.Alone(false, false)},
		{Name: "A does not look, the token is checked", Fault: true, Run: e.Alone(false, true)},
	}
}

// Reached kills the leader, or does not. A and B know all servers.
func (e Election[N]) Reached(kill bool) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x, r := e.Start(ctx, t, 3), clients.NewResource(t, false)
		h := x.NewClient(ctx, "A", e.Lease).Acquire(ctx)
		value := r.Read(h)
		waitForB := e.wait(ctx, x, r)
		if kill {
			e.kill(ctx, x)
		}
		if !h.Alive() {
			t.Must(errors.New("the election took longer than A's lease: nothing is shown"))
		}
		r.Write(h, value+1)
		h.Release(ctx)
		waitForB()
	}
}

// Alone kills the only server that A knows. A looks at its lease before it writes, or does not.
func (e Election[N]) Alone(looks, checks bool) lab.Scenario {
	const lease = 3 * time.Second
	return func(ctx context.Context, t *lab.Trial) {
		x, r := e.Start(ctx, t, 3), clients.NewResource(t, checks)
		h := x.NewClient(ctx, "A", lease, x.Leader).Acquire(ctx)
		value := r.Read(h)
		h.Watch(ctx)
		waitForB := e.wait(ctx, x, r)
		killed := e.kill(ctx, x)
		waitForB()
		untilB := time.Since(killed).Milliseconds()
		t.Measure("B", untilB, lab.Milliseconds.Of("from the leader's death until B has updated; A's lease delays B"))
		if !looks || h.Relies() {
			r.Write(h, value+1)
		}
		t.Must(h.AwaitLoss(ctx))
	}
}

// wait lets B wait for the lock in the background, and update when it is granted. It returns when B is in the queue. An election takes
// longer than B waits for an answer, so it asks again.
func (e Election[N]) wait(ctx context.Context, x *Electing[N], r *clients.Resource) (waitForB func()) {
	b := x.NewClient(ctx, "B", e.Lease)
	waitForB = x.Go(func() {
		for {
			h, err := b.TryAcquire(ctx)
			if errors.Is(err, lockstrategy.ErrUnavailable) {
				continue
			}
			x.Must(err)
			r.Add(h)
			h.Release(ctx)
			return
		}
	})
	x.awaitQueue(ctx, 2)
	return waitForB
}

// kill kills the leader, and measures when a client is granted a lock that nobody holds.
func (e Election[N]) kill(ctx context.Context, x *Electing[N]) (killed time.Time) {
	killed = KillAndMeasure(ctx, x.Trial, x.NewClient(ctx, "probe", e.Probe), func() { clients.Kill(x.Trial, x.Leader) })
	x.FindLeader(ctx)
	return killed
}

// KillAndMeasure kills a leader, and measures when probe is granted a lock that nobody holds. It returns when the leader was killed.
func KillAndMeasure(ctx context.Context, t *lab.Trial, probe *clients.Client, kill func()) (killed time.Time) {
	granted := func() {
		t.Must(servers.Until(ctx, func(ctx context.Context) error {
			lease, err := probe.Lock.Acquire(ctx, "lock:probe")
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		}))
	}
	granted()
	killed = time.Now()
	kill()
	granted()
	t.Measure("probe", time.Since(killed).Milliseconds(), lab.NoGrant)
	return killed
}
