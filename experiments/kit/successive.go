package kit

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
)

// Arrival returns the next client, after everything that has to happen before. nil: no client comes.
type Arrival func(ctx context.Context) *Client

// Fault is something that happens to a node while A holds the lock.
type Fault func(context.Context, *experiments.Trial, *stack.Node)

// NoFault is for controls.
func NoFault(context.Context, *experiments.Trial, *stack.Node) {}

// Successive lets clients come one after another while none releases. Each that is granted the lock reads. Then, from the
// last to the first, each writes what it has read plus one, unless its lease's context has ended. So every client respects
// the lock, and a lost update is the lock's fault. A client that is refused is the last to come, and waits until the others
// are done.
func Successive(ctx context.Context, t *experiments.Trial, arrivals ...Arrival) {
	r := NewResource(t, false)
	var holders []*Holder
	var values []int64
	var refused *Client
	for _, arrive := range arrivals {
		c := arrive(ctx)
		if c == nil {
			continue
		}
		h, err := c.TryAcquire(ctx, lockstrategy.TryOnce())
		if errors.Is(err, lockstrategy.ErrTaken) {
			refused = c
			break
		}
		t.Must(err)
		if c.confirms {
			h.AwaitConfirmation(ctx)
		}
		holders, values = append(holders, h), append(values, r.Read(h))
	}
	for i := len(holders) - 1; i >= 0; i-- {
		if holders[i].Alive() {
			r.Write(holders[i], values[i]+1)
		}
	}
	for _, h := range holders {
		_ = h.TryRelease(ctx) // its server may be dead
	}
	if refused != nil {
		refused.Update(ctx, r)
	}
}

// MustRefuse ends the trial unless client was refused: a trial in which the lock must survive shows it by nothing else.
func MustRefuse(t *experiments.Trial, client string) {
	for _, e := range t.Events() {
		if e.Kind == history.Refuse && e.Timeline == client {
			return
		}
	}
	t.Must(errors.New(client + " was not refused: the lock was lost, or its lease had ended before " + client + " came"))
}

// OnSingle is A, then a fault, then B on the only Redis. A reaches it over a proxy.
func OnSingle(fault Fault) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		servers, err := t.Stack.ProxiedTopology(ctx, "single", t.Real)
		t.Must(err)
		node := servers.Nodes[0]
		Successive(ctx, t,
			func(ctx context.Context) *Client {
				a := RedisLock(t, "A", Connect(ctx, t, servers), LongLease)
				a.confirms = true
				return a
			},
			func(ctx context.Context) *Client {
				fault(ctx, t, node)
				return RedisLock(t, "B", Connect(ctx, t, servers.At(node.Addr)), LongLease)
			},
		)
	}
}

// WorkBesideWaiter lets A take the lock with options, read, and work, while B waits for the lock. A does not look at its
// lease: it works for so long, or until B has been in the section, and then writes. lease is that of both where the options
// name none.
func WorkBesideWaiter(lease, work time.Duration, options ...lockstrategy.Option) experiments.Scenario {
	return OnRedis(func(ctx context.Context, x *Redis) {
		r := NewResource(x.Trial, false)
		a := x.NewClient("A", lease).Acquire(ctx, options...)
		value := r.Read(a)
		done := make(chan struct{})
		waitForB := x.Go(func() {
			defer close(done)
			x.NewClient("B", lease).Update(ctx, r)
		})
		select {
		case <-time.After(work):
			r.Write(a, value+1)
			a.Release(ctx)
			waitForB()
		case <-done:
			waitForB()
			r.Write(a, value+1)
			x.Must(a.AwaitLoss(ctx))
		}
	})
}
