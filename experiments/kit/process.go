package kit

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

// ProcessLease is the lease of A in a process of its own. It ends while A is stopped, and not before.
const ProcessLease = 500 * time.Millisecond

// HolderProcess is a lock that A holds in a process of its own. B is in the lab's process.
type HolderProcess struct {
	*experiments.Trial
	A        *worker.Process
	Holder   *Holder // A's lock
	B        *Client
	Resource *Resource
	Nodes    []*stack.Node
	Key      string // of the lock, on the nodes
}

// InProcess is a run in which A holds the lock in a process of its own, and continues with scenario. checks: the resource checks
// fencing tokens. bound is the longest time for which A renews its lease; 0: as long as it lives.
func InProcess(
	strategy string, checks bool, bound time.Duration, scenario func(ctx context.Context, x *HolderProcess),
) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		x := &HolderProcess{Trial: t, Key: LockKey, Resource: NewResource(t, checks)}
		switch strategy {
		case lockstrategy.NameRedis:
			r := StartRedis(ctx, t)
			x.Nodes, x.B = []*stack.Node{r.Node}, r.NewClient("B", ProcessLease)
		case lockstrategy.NameRedLock:
			q := StartQuorum(ctx, t, 5)
			x.Nodes, x.B, x.Key = q.Nodes, q.NewClient(ctx, "B", ProcessLease), "redlock:"+LockKey
		}
		var addrs []string
		for _, n := range x.Nodes {
			addrs = append(addrs, n.Addr)
		}
		x.A = worker.Start(t, "A")
		token := x.A.Acquire(ctx, worker.Lock{Strategy: strategy, Addrs: addrs, Lease: ProcessLease, AtMost: bound, Key: LockKey})
		x.Holder = &Holder{Client: NewClient(t, "A", nil), owner: x.A.Owner(), token: token}
		scenario(ctx, x)
	}
}

// Look lets A look at its lease, which must be good.
func (x *HolderProcess) Look(ctx context.Context) {
	if seen := x.A.Do(ctx, worker.Command{Do: worker.Look}); seen.Text != "" {
		x.Must(fmt.Errorf("the lease of A should have been good: %s", seen.Text))
	}
	x.Holder.Note("has looked: its lease is good")
}

// Write lets A look at its lease and then write.
func (x *HolderProcess) Write(ctx context.Context, value int64) {
	x.Look(ctx)
	x.Resource.Write(x.Holder, x.A.Do(ctx, worker.Command{Do: worker.Write, Value: value}).Value)
}

// Release lets A release the lock.
func (x *HolderProcess) Release(ctx context.Context) {
	x.A.Send(worker.Command{Do: worker.Release})
	x.A.Wait(ctx, history.Released)
}
