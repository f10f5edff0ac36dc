package claims

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
	"locklab/topology"
)

// quorum is nodes that know nothing of each other.
type quorum struct {
	t     *experiments.Trial
	nodes []*stack.Node
}

func startQuorum(ctx context.Context, t *experiments.Trial, n int) (*quorum, error) {
	nodes, err := t.Stack.RedLock(ctx, n, t.Real)
	return &quorum{t, nodes}, err
}

// comes is a client with connections of its own. It does not reach the nodes in without: its lines to them end, and refuse it.
func (q *quorum) comes(ctx context.Context, lane string, lease time.Duration, without ...int) (*client, error) {
	var addrs []string
	var lines []*stack.Proxy
	for i, n := range q.nodes {
		if !slices.Contains(without, i+1) {
			addrs = append(addrs, n.Addr)
			continue
		}
		l, err := q.t.Stack.Proxy(lane+" to "+n.Name, n.Addr)
		if err != nil {
			return nil, err
		}
		lines, addrs = append(lines, l), append(addrs, l.Addr)
	}
	opened, err := q.open(ctx, addrs, lease)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		if err := end(q.t, l); err != nil {
			return nil, err
		}
	}
	return newClient(q.t, lane, opened), nil
}

// open is RedLock over addresses. A connection is made to each before it returns, if there can be one.
func (q *quorum) open(ctx context.Context, addrs []string, lease time.Duration) (lockstrategy.Strategy, error) {
	independent, err := topology.OpenIndependent(ctx, addrs, topology.Access{})
	if err != nil {
		return nil, err
	}
	q.t.Cleanup(independent.Close)
	for _, node := range independent.Nodes {
		q.t.Tap(node)
	}
	o, err := opened(q.t, lockstrategy.NameRedLock, lockstrategy.Backends{Nodes: independent.Nodes, Lease: lease})
	if err != nil {
		return nil, err
	}
	return o.Strategy, nil
}

// end ends a line for good: what was connected is cut off, and who dials is refused.
func end(t *experiments.Trial, l *stack.Proxy) error {
	if err := l.Stop(); err != nil {
		return err
	}
	connection, err := net.Dial("tcp", l.Addr)
	if err == nil {
		connection.Close()
		return fmt.Errorf("%s still takes connections", l.Name)
	}
	t.Note(l.Name, "does not get through: "+err.Error())
	return nil
}

// once asks for the lock a single time, and uses it when it gets it. What it was told is recorded, and no failure of the run.
func once(ctx context.Context, c *client, r *resource) error {
	h, err := c.acquire(ctx)
	switch {
	case err == nil:
		r.add(h)
		_ = h.release(ctx) // to nodes of which some are dead
		return nil
	case errors.Is(err, lockstrategy.ErrNotAcquired):
		return nil
	}
	return err
}

// available finds what a lock over so many nodes must not do: refuse while a majority of them lives, grant when none does, or
// keep a client waiting that it could refuse.
func available(nodes int) func([]history.Event) []history.Violation {
	return func(events []history.Event) (found []history.Violation) {
		var down []int // the events that say so
		tell := func(e history.Event, what string) {
			found = append(found, history.Violation{What: fmt.Sprintf("%s was %s with %d of %d nodes down", e.Timeline, what, len(down), nodes), Events: append(slices.Clone(down), e.Seq)})
		}
		for _, e := range events {
			majority := len(down) <= (nodes-1)/2
			switch {
			case e.Kind == history.Fault && e.Text == killed:
				down = append(down, e.Seq)
			case e.Kind == history.Heal && len(down) > 0:
				down = down[1:]
			case e.Kind == history.Refuse && e.Text == reason(lockstrategy.ErrTaken): // it works
			case e.Kind == history.Refuse && majority:
				tell(e, "refused")
			case e.Kind == history.Refuse && e.Text == reason(context.DeadlineExceeded):
				tell(e, "kept waiting")
			case e.Kind == history.Grant && !majority:
				tell(e, "granted the lock")
			}
		}
		return found
	}
}
