package kit

import (
	"context"
	"errors"
	"slices"
	"time"

	"locklab/experiments"
	"locklab/lockstrategy"
	"locklab/stack"
)

// Sides are a lock's servers and clients in a network that is cut in two. A and C reach the servers of the minority only, before the cut,
// too. B reaches those of the majority.
type Sides struct {
	*experiments.Trial
	A, B, C  *Client
	Majority bool      // each answer needs a majority of the servers
	CutAt    time.Time // when the network was cut

	minority string // its server
	cut      func(ctx context.Context) (*stack.Isolation, error)
	serve    func(ctx context.Context)
	until    time.Time // the end of A's lease when the network was cut
}

// Timelines and units of what each side answers.
const (
	MinoritySide = "minority side"
	MajoritySide = "majority side"

	GrantedThere = "requests granted after the cut"
	RefusedThere = "requests refused after the cut"
	HeldTwice    = "locks that two clients held" // of both sides together
)

// otherKey is what C locks, so that only the server decides. It has the slot of LockKey in a cluster.
const otherKey = "lock:other:{" + LockKey + "}"

// Cut cuts the network while A holds the lock: h.
func (x *Sides) Cut(ctx context.Context, h *Holder) {
	i, err := x.cut(ctx)
	x.Must(err)
	x.CutAt, x.until = time.Now(), h.Lease.Until()
	x.Cleanup(func() error { i.Mend(); return nil })
	if h.Lease.Context().Err() != nil {
		x.Must(errors.New("the lease of A had ended before the network was cut: nothing is shown"))
	}
	proof, err := i.Await(ctx)
	x.Must(err)
	x.Fault(x.minority, "cut off from the majority", proof)
}

// AwaitMajority waits until the side of the majority serves again: it may need a new leader. Where no majority is needed, A's side
// confirms its lease before.
func (x *Sides) AwaitMajority(ctx context.Context, h *Holder) {
	if !x.Majority {
		h.AwaitConfirmationAfter(ctx, x.until)
		h.Note("the minority has confirmed its lease")
	}
	if x.serve != nil {
		x.serve(ctx)
	}
}

// open opens the three clients by their names.
func (x *Sides) open(client func(name string) *Client) *Sides {
	x.A, x.B, x.C = client("A"), client("B"), client("C")
	x.C.Key = otherKey
	return x
}

// ReplicatedSides are servers of Redis. The master of the lock is alone on its side.
func ReplicatedSides(start StartReplicated, lease time.Duration) func(context.Context, *experiments.Trial) *Sides {
	return func(ctx context.Context, t *experiments.Trial) *Sides {
		x := start(ctx, t)
		old, all := x.Master, x.Servers
		s := &Sides{Trial: t, minority: old.Name}
		s.cut = func(ctx context.Context) (*stack.Isolation, error) {
			x.AwaitReplication(ctx) // A's lock is not lost as in F01
			return all.Isolate(ctx, old)
		}
		s.serve = func(ctx context.Context) {
			x.Servers = all.Without(old)
			x.Replace(ctx, x)
			x.Note(x.Master.Name, "is the master now")
			attempts := s.B.attempts
			s.B = x.NewClient(ctx, "B", lease)
			s.B.attempts = attempts
		}
		return s.open(func(name string) *Client {
			if name == "B" {
				return x.NewClient(ctx, name, lease)
			}
			return RedisLock(t, name, Connect(ctx, t, all.At(old.Addr)), lease)
		})
	}
}

// NodeTimeout changes for how long the nodes of a cluster miss each other before they act.
func (x *Replicated) NodeTimeout(ctx context.Context, d time.Duration) {
	for _, n := range x.Servers.Nodes {
		x.Must(n.Configure(ctx, "cluster-node-timeout", d.Milliseconds()))
	}
}

// RedLockSides are five independent nodes, two of them on A's side.
func RedLockSides(lease time.Duration) func(context.Context, *experiments.Trial) *Sides {
	const few = 2
	return func(ctx context.Context, t *experiments.Trial) *Sides {
		q := StartQuorum(ctx, t, 5)
		toAll := func(side string) (proxies []*stack.Proxy, addrs []string) {
			for _, n := range q.Nodes {
				p, err := t.Stack.Proxy(side+" to "+n.Name, n.Addr)
				t.Must(err)
				proxies, addrs = append(proxies, p), append(addrs, p.Addr)
			}
			return proxies, addrs
		}
		ours, oursAt := toAll(MinoritySide)
		theirs, theirsAt := toAll(MajoritySide)
		s := &Sides{Trial: t, Majority: true, minority: "redlock-1 and redlock-2"}
		s.cut = func(context.Context) (*stack.Isolation, error) {
			return stack.Cut(s.minority, slices.Concat(ours[few:], theirs[:few])...), nil
		}
		return s.open(func(name string) *Client {
			addrs := oursAt
			if name == "B" {
				addrs = theirsAt
			}
			nodes := q.Connect(ctx, addrs)
			for _, node := range nodes.Nodes {
				t.Tap(node)
			}
			return Open(t, name, lockstrategy.NameRedLock, lockstrategy.Backends{Nodes: nodes.Nodes, Lease: lease})
		})
	}
}

// EtcdSides are three servers of etcd. The leader is alone on its side.
func EtcdSides(lease time.Duration) func(context.Context, *experiments.Trial) *Sides {
	return func(ctx context.Context, t *experiments.Trial) *Sides {
		cluster, err := t.Stack.ProxiedEtcd(ctx)
		t.Must(err)
		x := onEtcd(ctx, t, cluster)
		return x.sides(ctx, lease, func(ctx context.Context) (*stack.Isolation, error) { return cluster.Isolate(ctx, x.Leader) })
	}
}

// ZooKeeperSides are three servers of ZooKeeper. The leader is alone on its side.
func ZooKeeperSides(lease time.Duration) func(context.Context, *experiments.Trial) *Sides {
	return func(ctx context.Context, t *experiments.Trial) *Sides {
		nodes, err := t.Stack.ProxiedZooKeeper(ctx)
		t.Must(err)
		x := onZooKeeper(ctx, t, nodes)
		return x.sides(ctx, lease, func(context.Context) (*stack.Isolation, error) { return x.Leader.Isolate(), nil })
	}
}

// sides are three servers. The leader is alone on its side.
func (x *Electing[N]) sides(ctx context.Context, lease time.Duration, cut func(context.Context) (*stack.Isolation, error)) *Sides {
	old := x.Leader
	rest := slices.DeleteFunc(slices.Clone(x.Nodes), func(n N) bool { return n == old })
	s := &Sides{Trial: x.Trial, Majority: true, minority: old.String(), cut: cut}
	s.serve = func(ctx context.Context) {
		x.Nodes = rest
		x.FindLeader(ctx)
	}
	return s.open(func(name string) *Client {
		if name == "B" {
			return x.NewClient(ctx, name, lease, rest...)
		}
		return x.NewClient(ctx, name, lease, old)
	})
}
