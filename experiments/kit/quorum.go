package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
	"locklab/topology"
)

// Quorum is nodes that know nothing of each other.
type Quorum struct {
	*experiments.Trial
	Nodes []*stack.Node
}

// StartQuorum starts n nodes.
func StartQuorum(ctx context.Context, t *experiments.Trial, n int) *Quorum {
	nodes, err := t.Stack.RedLock(ctx, n, t.Real)
	t.Must(err)
	return &Quorum{t, nodes}
}

// NewClient returns a client of RedLock with connections of its own. It does not reach the nodes in without (from 1): its
// proxies to them end, and refuse it.
func (q *Quorum) NewClient(ctx context.Context, name string, lease time.Duration, without ...int) *Client {
	var addrs []string
	var proxies []*stack.Proxy
	for i, n := range q.Nodes {
		if !slices.Contains(without, i+1) {
			addrs = append(addrs, n.Addr)
			continue
		}
		p, err := q.Stack.Proxy(name+" to "+n.Name, n.Addr)
		q.Must(err)
		proxies, addrs = append(proxies, p), append(addrs, p.Addr)
	}
	nodes := q.Connect(ctx, addrs)
	for _, p := range proxies {
		EndProxy(q.Trial, p)
	}
	for _, node := range nodes.Nodes {
		q.Tap(node)
	}
	return Open(q.Trial, name, lockstrategy.NameRedLock, lockstrategy.Backends{Nodes: nodes.Nodes, Lease: lease})
}

// Connect returns a connection to each address, as the app opens it.
func (q *Quorum) Connect(ctx context.Context, addrs []string) *topology.Independent {
	nodes, err := topology.OpenIndependent(ctx, addrs, topology.Access{})
	q.Must(err)
	q.Cleanup(nodes.Close)
	return nodes
}

// OnDecidingNode is A, then a fault, then B. A holds the lock by three of five nodes, and the fault is on the third of them.
// Its vote decides.
func OnDecidingNode(fault Fault) experiments.Scenario { return OnThirdNode(fault, 4, 5) }

// OnThirdNode is the same with a lock that A holds by all nodes but those that it does not reach.
func OnThirdNode(fault Fault, without ...int) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		q := StartQuorum(ctx, t, 5)
		s := NewSuccession(t)
		s.Come(ctx, q.NewClient(ctx, "A", LongLease, without...))
		third := q.Nodes[2]
		t.Must(third.Await(ctx, func(ctx context.Context) error { // three other nodes may have been faster
			return third.WithClient(func(c *redis.Client) error { return c.Get(ctx, "redlock:"+LockKey).Err() })
		}))
		fault(ctx, t, third)
		s.Come(ctx, q.NewClient(ctx, "B", LongLease))
		s.Finish(ctx)
	}
}

// TryUpdate requests the lock once, and adds one to r when it is granted. A refusal is recorded and does not end the trial.
func TryUpdate(ctx context.Context, c *Client, r *Resource) {
	h, err := c.TryAcquire(ctx)
	if err == nil {
		r.Add(h)
		_ = h.TryRelease(ctx) // some nodes may be dead
	} else if !errors.Is(err, lockstrategy.ErrNotAcquired) {
		c.t.Must(err)
	}
}

// Available is a check of a lock over so many nodes. It must not refuse a client while a majority lives, grant the lock
// without one, or keep a client waiting that it could refuse. A node that hangs counts as down.
func Available(nodes int) func([]history.Event) []history.Violation {
	return func(trial []history.Event) (found []history.Violation) {
		var down []int // the events that say so
		add := func(e history.Event, what string) {
			found = append(found, history.Violation{
				What:   fmt.Sprintf("%s was %s with %d of %d nodes down", e.Timeline, what, len(down), nodes),
				Events: append(slices.Clone(down), e.Seq),
			})
		}
		for _, e := range trial {
			majority := len(down) <= (nodes-1)/2
			switch {
			case e.Kind == history.Fault && (e.Text == Killed || e.Text == Hangs):
				down = append(down, e.Seq)
			case e.Kind == history.Heal && len(down) > 0:
				down = down[1:]
			case e.Kind == history.Refuse && e.Text == history.Taken: // it works
			case e.Kind == history.Refuse && majority:
				add(e, "refused")
			case e.Kind == history.Refuse && e.Text == history.Deadline:
				add(e, "kept waiting")
			case e.Kind == history.Grant && !majority:
				add(e, "granted the lock")
			}
		}
		return found
	}
}
