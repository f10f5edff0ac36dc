package claims

import (
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/worker"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
)

// remote is a lock that A has in a process of its own, and B in the lab's.
type remote struct {
	a     *worker.Process
	b     *client
	nodes []*stack.Node
	key   string // as it stands on the nodes
}

// remoteLease is of locks of which A's process has one. It ends while that is stopped, and not before.
const remoteLease = 500 * time.Millisecond

// holds is a run in which A's process has the lock, and acts on from there. bound is the longest that A keeps it renewed;
// 0: as long as it lives.
func holds(strategy string, checks bool, bound time.Duration, then func(ctx context.Context, x *remote, r *resource, a *held) error) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		x, err := startRemote(ctx, t, strategy)
		if err != nil {
			return err
		}
		r := newResource(t, checks)
		defer r.final()
		a, err := x.acquire(ctx, bound)
		if err != nil {
			return err
		}
		return then(ctx, x, r, a)
	}
}

// startRemote starts servers for a strategy, and A's process.
func startRemote(ctx context.Context, t *experiments.Trial, strategy string) (*remote, error) {
	const lease = remoteLease
	r := &remote{key: lockKey}
	switch strategy {
	case lockstrategy.NameRedis:
		node, redis, err := single(ctx, t)
		if err != nil {
			return nil, err
		}
		o, err := v3(t, redis, lease)
		if err != nil {
			return nil, err
		}
		r.nodes, r.b = []*stack.Node{node}, newClient(t, "B", o.Strategy)
	case lockstrategy.NameRedLock:
		q, err := startQuorum(ctx, t, 5)
		if err != nil {
			return nil, err
		}
		if r.b, err = q.comes(ctx, "B", lease); err != nil {
			return nil, err
		}
		r.nodes, r.key = q.nodes, "redlock:"+lockKey
	}
	var addrs []string
	for _, n := range r.nodes {
		addrs = append(addrs, n.Addr)
	}
	var err error
	if r.a, err = worker.Start(ctx, t, "A"); err != nil {
		return nil, err
	}
	return r, r.a.Open(ctx, strategy, lease, addrs...)
}

// acquire lets A take the lock. atMost bounds its renewal; 0: nothing does.
func (r *remote) acquire(ctx context.Context, atMost time.Duration) (*held, error) {
	granted, err := r.a.Acquire(ctx, lockKey, atMost)
	if err != nil {
		return nil, err
	}
	as := &client{t: r.b.t, lane: "A", key: lockKey}
	return &held{client: as, owner: granted.Owner, fence: granted.Fence}, nil
}

// writes lets A look at its lease and then write.
func (r *remote) writes(ctx context.Context, to *resource, h *held, value int64) error {
	if err := r.looks(ctx); err != nil {
		return err
	}
	wrote, err := r.a.Ask(ctx, worker.Order{Do: worker.Write, Value: value}, string(worker.Write))
	if err == nil {
		to.write(h, wrote.Value)
	}
	return err
}

// looks lets A look at its lease, which must be good.
func (r *remote) looks(ctx context.Context) error {
	seen, err := r.a.Ask(ctx, worker.Order{Do: worker.Look}, string(worker.Look))
	switch {
	case err != nil:
		return err
	case seen.Text != "":
		return fmt.Errorf("the lease of A should have been good: %s", seen.Text)
	}
	r.b.t.Note("A", "it has looked: its lease is good")
	return nil
}

func (r *remote) release(ctx context.Context) error {
	_, err := r.a.Ask(ctx, worker.Order{Do: worker.Release}, string(history.Released))
	return err
}
