package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
)

// Fault is something that happens to a node while A holds the lock.
type Fault func(context.Context, *lab.Trial, *servers.Node)

// NoFault is for controls.
func NoFault(context.Context, *lab.Trial, *servers.Node) {}

// Succession is clients that come one after another while none releases. Every client respects the lock, and so a lost update
// is the lock's fault.
type Succession struct {
	t        *lab.Trial
	resource *Resource
	holders  []*LocalHolder
	values   []int64 // that the holders have read
	refused  *Client // the last to come; nil: none was
}

// NewSuccession begins a succession.
func NewSuccession(t *lab.Trial) *Succession {
	return &Succession{t: t, resource: NewResource(t, false)}
}

// Come lets a client request the lock once, and read when it is granted. It returns nil when the client was refused, or one
// before it.
func (s *Succession) Come(ctx context.Context, c *Client) *LocalHolder {
	if s.refused != nil {
		return nil
	}
	h := c.TryOnce(ctx)
	if h == nil {
		s.refused = c
		return nil
	}
	s.holders, s.values = append(s.holders, h), append(s.values, s.resource.Read(h))
	return h
}

// Finish lets each holder, from the last to the first, write what it has read plus one, unless its lease's context has ended.
// Then all release, and the refused client waits for the lock.
func (s *Succession) Finish(ctx context.Context) {
	for i, h := range slices.Backward(s.holders) {
		if h.Alive() {
			s.resource.Write(h, s.values[i]+1)
		}
	}
	for _, h := range s.holders {
		_ = h.TryRelease(ctx) // its server may be dead
	}
	if s.refused != nil {
		s.refused.Update(ctx, s.resource)
	}
}

// MustRefuse ends the trial unless client was refused: a trial in which the lock must survive shows it by nothing else.
func MustRefuse(t *lab.Trial, client string) {
	for _, e := range t.Events() {
		if e.Kind == history.Refuse && e.Timeline == client {
			return
		}
	}
	t.Must(errors.New(client + " was not refused: the lock was lost, or its lease had ended before " + client + " came"))
}

// OnSingle is A, then a fault, then B on the only Redis. A reaches it over a proxy.
func OnSingle(fault Fault) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		servers, err := t.Stack.ProxiedTopology(ctx, "single", t.Real)
		t.Must(err)
		node := servers.Nodes[0]
		s := NewSuccession(t)
		a := s.Come(ctx, RedisLock(t, "A", Connect(ctx, t, servers), LongLease))
		a.AwaitConfirmation(ctx, a.Lease.Until())
		fault(ctx, t, node)
		s.Come(ctx, RedisLock(t, "B", Connect(ctx, t, servers.At(node.Addr)), LongLease))
		s.Finish(ctx)
	}
}

// WorkBesideWaiter lets A take the lock, read, and work, while B waits for the lock. A does not look at its lease: it works for so long,
// or until B has been in the section, and then writes. lease is that of both, and explicit that of A, which is not renewed; 0: A names
// none. All three are scaled.
func WorkBesideWaiter(lease, work, explicit time.Duration) lab.Scenario {
	return OnRedis(func(ctx context.Context, x *Redis) {
		lease := x.Scaled(lease)
		var options []lockstrategy.Option
		if explicit > 0 {
			options = append(options, lockstrategy.LeaseFor(x.Scaled(explicit)))
		}
		WorkBeside(ctx, x.NewClient("A", lease), x.NewClient("B", lease), x.Scaled(work), options...)
	})
}

// learnsLoss is far more than a lease here. A lock that does not exclude may never tell the first one.
const learnsLoss = 10 * time.Second

// WorkBeside lets first take the lock, read, and work for so long, or until second has been in the section. Then first writes, without a
// look at its lease. Without options the lease is renewed. If a stalled machine or server does not renew it, the trial has shown nothing.
func WorkBeside(ctx context.Context, first, second *Client, work time.Duration, options ...lockstrategy.Option) {
	r := NewResource(first.t, false)
	a := first.Acquire(ctx, options...)
	value := r.Read(a)
	done := make(chan struct{})
	waitForB := first.t.Go(func() {
		defer close(done)
		second.Update(ctx, r)
	})
	select {
	case <-time.After(work):
		r.Write(a, value+1)
		a.Release(ctx)
		waitForB()
	case <-done:
		waitForB()
		ctx, cancel := context.WithTimeout(ctx, first.t.Scaled(learnsLoss))
		defer cancel()
		select { // A does not look, but the run does
		case <-a.Lease.Context().Done():
		case <-ctx.Done():
		}
		if cause := context.Cause(a.Lease.Context()); errors.Is(cause, lockstrategy.ErrUnreachable) ||
			len(options) == 0 && errors.Is(cause, lockstrategy.ErrExpired) { // this process did not run when it should have renewed
			first.t.Must(fmt.Errorf("the lease was not renewed: whether a renewed one is enough is not shown: %w", cause))
		}
		r.Write(a, value+1)
		first.t.Must(a.AwaitLoss(ctx))
	}
}
