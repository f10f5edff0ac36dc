package kit

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/lockstrategy"
	"locklab/stack"
)

// Electing is servers that elect a leader.
type Electing interface {
	Client(ctx context.Context, name string, lease time.Duration, ofLeader bool) *Client // it knows all of them, or the leader only
	AwaitQueue(ctx context.Context, n int)
	KillLeader()
	FindLeader(ctx context.Context)
}

// Election is an experiment in which the leader is killed while A holds the lock and B waits.
type Election[X Electing] struct {
	Start func(context.Context, *experiments.Trial) X
	Lease time.Duration // outlives an election
	Probe time.Duration // the lease of the client that measures: it waits a third of it for an answer
}

// Reached kills the leader, or does not. A and B know all servers.
func (e Election[X]) Reached(kill bool) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		x, r := e.Start(ctx, t), NewResource(t, false)
		h := x.Client(ctx, "A", e.Lease, false).Acquire(ctx)
		value := r.Read(h)
		waitForB := e.wait(ctx, x, r)
		if kill {
			e.kill(ctx, t, x)
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
func (e Election[X]) Alone(looks, checks bool) experiments.Scenario {
	const lease = 3 * time.Second
	return func(ctx context.Context, t *experiments.Trial) {
		x, r := e.Start(ctx, t), NewResource(t, checks)
		h := x.Client(ctx, "A", lease, true).Acquire(ctx)
		value := r.Read(h)
		h.Watch(ctx)
		waitForB := e.wait(ctx, x, r)
		killed := e.kill(ctx, t, x)
		waitForB()
		t.Measure("B", time.Since(killed).Milliseconds(), "ms from the leader's death until B has updated; A's lease delays B")
		if !looks || h.Lease.Context().Err() == nil {
			r.Write(h, value+1)
		}
		t.Must(h.AwaitLoss(ctx))
	}
}

// wait lets B wait for the lock in the background, and update when it is granted. It returns when B is in the queue. An election takes
// longer than B waits for an answer, so it asks again.
func (e Election[X]) wait(ctx context.Context, x X, r *Resource) (waitForB func()) {
	b := x.Client(ctx, "B", e.Lease, false)
	waitForB = b.t.Go(func() {
		for {
			h, err := b.TryAcquire(ctx)
			if errors.Is(err, lockstrategy.ErrUnavailable) {
				continue
			}
			b.t.Must(err)
			r.Add(h)
			h.Release(ctx)
			return
		}
	})
	x.AwaitQueue(ctx, 2)
	return waitForB
}

// kill kills the leader, and measures when a client is granted a lock that nobody holds.
func (e Election[X]) kill(ctx context.Context, t *experiments.Trial, x X) (killed time.Time) {
	killed = KillAndMeasure(ctx, t, x.Client(ctx, "probe", e.Probe, false), x.KillLeader)
	x.FindLeader(ctx)
	return killed
}

// KillAndMeasure kills a leader, and measures when probe is granted a lock that nobody holds. It returns when the leader was killed.
func KillAndMeasure(ctx context.Context, t *experiments.Trial, probe *Client, kill func()) (killed time.Time) {
	granted := func() {
		t.Must(stack.Until(ctx, func(ctx context.Context) error {
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
	t.Measure("probe", time.Since(killed).Milliseconds(), "ms for which nobody was granted a lock after the leader had died")
	return killed
}
