package clients

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/versions"
)

// ProcessLease is the lease of A in a process of its own, where the servers allow one so short. It ends while A is stopped, and not before.
const ProcessLease = 500 * time.Millisecond

// Holding says which lock A holds in a process of its own.
type Holding struct {
	Strategy string
	Lease    time.Duration // of A and B; 0: as short as the strategy's servers allow, ProcessLease at least, and scaled
	Bounded  bool          // A renews its lease for no longer than one lease, instead of as long as it lives
	Checks   bool          // the resource checks fencing tokens
	Majority bool          // three servers of etcd or ZooKeeper, instead of one
}

// HolderProcess is a lock that A holds in a process of its own. B is in the lab's process.
type HolderProcess struct {
	*Servers
	A        *Program
	Holder   *ProcessHolder // A, when it holds the lock
	B        *Client
	Resource *Resource
	Key      string // of the lock, on the nodes
	Lease    time.Duration
}

// InProcess is a run in which A holds the lock in a process of its own, and continues with scenario.
func InProcess(h Holding, scenario func(ctx context.Context, x *HolderProcess)) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		lease := cmp.Or(h.Lease, t.Scaled(LeaseOf(h.Strategy)))
		size := 1
		if h.Majority {
			size = 3
		}
		x := &HolderProcess{Servers: startLock(ctx, t, h.Strategy, size), Key: LockKey, Resource: NewResource(t, h.Checks), Lease: lease}
		if h.Strategy == versions.NameRedLock {
			x.Key = NodeKey
		}
		x.B = x.NewClient(ctx, "B", lease)
		x.A = LaunchLock(ctx, t, "A", Lock{Strategy: h.Strategy, Addrs: x.Addrs, Lease: lease, Bounded: h.Bounded})
		held, err := x.A.Begin(LockKey, LongLease)(ctx)
		t.Must(err)
		x.Holder = held
		scenario(ctx, x)
	}
}

// Look lets A look at its lease, which must be good.
func (x *HolderProcess) Look(ctx context.Context) {
	if !x.Holder.Extend(ctx) {
		x.Must(errors.New("the lease of A should have been good"))
	}
	x.Holder.Note("has looked: its lease is good")
}

// Write lets A look at its lease, and then writes as A.
func (x *HolderProcess) Write(ctx context.Context, value int64) {
	x.Look(ctx)
	x.Resource.Write(x.Holder, value)
}

// AwaitLoss waits until A tells that its lock is lost.
func (x *HolderProcess) AwaitLoss(ctx context.Context) {
	if !x.Holder.AwaitLoss(ctx, LongLease) {
		x.Must(fmt.Errorf("%s has not told of the loss of its lock", x.A))
	}
}
