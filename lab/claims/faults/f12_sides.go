package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/clients"
	"locklab/lab/servers"
)

// sides are a lock's servers and clients in a network that is cut in two. A and C reach the servers of the minority only, before the cut,
// too. B reaches those of the majority.
type sides struct {
	*lab.Trial
	a, b, c  *clients.Client
	majority bool      // each answer needs a majority of the servers
	cutAt    time.Time // when the network was cut

	electsAgain bool // when a server is back the others may elect once more, and renew no lease meanwhile

	minority string // its server
	cut      func(ctx context.Context, d faultproxy.Direction) (*servers.Isolation, error)
	serve    func(ctx context.Context)
	until    time.Time // the end of A's lease when the network was cut

	nodes     []*servers.Node           // of RedLock on the side of the majority; or the old master of Redis, and then the new one
	onRefusal func(ctx context.Context) // called when the minority has refused C; nil: nothing is
}

// Timelines of what each side answers.
const (
	MinoritySide = "minority side"
	MajoritySide = "majority side"
)

// The measurements of each side, and of both together.
var (
	GrantedThere = lab.Count.Of("requests granted after the cut")
	RefusedThere = lab.Count.Of("requests refused after the cut")
	HeldTwice    = lab.Count.Of("locks that two clients held")
)

// otherKey is what C locks, so that only the server decides. It has the slot of LockKey in a cluster.
const otherKey = "lock:other:{" + clients.LockKey + "}"

// cutOff cuts the network in a direction while A holds the lock: h.
func (x *sides) cutOff(ctx context.Context, h *clients.LocalHolder, d faultproxy.Direction) *servers.Isolation {
	i, err := x.cut(ctx, d)
	x.Must(err)
	x.cutAt, x.until = time.Now(), h.Lease.Until()
	x.Cleanup(func() error { i.Mend(); return nil })
	x.mustHold(h, "the network was cut")
	proof, err := i.Await(ctx)
	x.Must(err)
	text := map[faultproxy.Direction]string{
		faultproxy.Both:     "cut off from the majority",
		faultproxy.ToClient: "the majority does not hear it",
		faultproxy.ToServer: "it does not hear the majority",
	}
	x.Fault(x.minority, text[d], proof)
	return i
}

// mustHold ends the trial if the lease of h has ended before something. The cause says whether this machine was too slow.
func (x *sides) mustHold(h *clients.LocalHolder, before string) {
	if cause := context.Cause(h.Lease.Context()); cause != nil {
		x.Must(fmt.Errorf("the lease of %s ended before %s, so nothing is shown: %w", h.Name, before, cause))
	}
}

// awaitMajority waits until the side of the majority serves again: it may need a new leader. Where no majority is needed, A's side
// confirms its lease before.
func (x *sides) awaitMajority(ctx context.Context, h *clients.LocalHolder) {
	if !x.majority {
		h.AwaitConfirmation(ctx, x.until)
		h.Note("the minority has confirmed its lease")
	}
	if x.serve != nil {
		x.serve(ctx)
	}
}

// open opens the three clients by their names.
func (x *sides) open(client func(name string) *clients.Client) *sides {
	x.a, x.b, x.c = client("A"), client("B"), client("C")
	x.c.Key = otherKey
	return x
}

// replicatedSides are servers of Redis. The master of the lock is alone on its side.
func replicatedSides(start failovers.StartReplicated, lease time.Duration) startSides {
	return func(ctx context.Context, t *lab.Trial) *sides {
		x := start(ctx, t)
		old, all := x.Master, x.Servers
		s := &sides{Trial: t, minority: old.Name, nodes: []*servers.Node{old}}
		s.cut = func(ctx context.Context, d faultproxy.Direction) (*servers.Isolation, error) {
			x.AwaitReplication(ctx) // A's lock is not lost as in F01
			return all.Isolate(ctx, old, d)
		}
		s.serve = func(ctx context.Context) {
			x.Servers = all.Without(old)
			x.Replace(ctx, x)
			x.Note(x.Master.Name, "is the master now")
			s.nodes = append(s.nodes, x.Master)
			s.b.Lock = x.NewClient(ctx, "B", lease).Lock
		}
		return s.open(func(name string) *clients.Client {
			if name == "B" {
				return x.NewClient(ctx, name, lease)
			}
			return clients.RedisLock(t, name, clients.Connect(ctx, t, all.At(old.Addr)), lease)
		})
	}
}

// slowCluster is a cluster that misses a node after clusterTimeout.
func slowCluster(ctx context.Context, t *lab.Trial) *failovers.Replicated {
	x := failovers.Clustered(ctx, t)
	for _, n := range x.Servers.Nodes {
		t.Must(n.Configure(ctx, "cluster-node-timeout", clusterTimeout.Milliseconds()))
	}
	return x
}

// sentinelsWithLag watch a master that refuses writes when no replica has reported for reportLag.
func sentinelsWithLag(ctx context.Context, t *lab.Trial) *failovers.Replicated {
	x := failovers.Sentinels(ctx, t)
	requireReplica(ctx, x, reportLag)
	return x
}

// redLockSides are five independent nodes, two of them on A's side.
func redLockSides(lease time.Duration) startSides {
	const few = 2
	return func(ctx context.Context, t *lab.Trial) *sides {
		q := failovers.StartQuorum(ctx, t, 5)
		ours, oursAt := q.Proxies(MinoritySide)
		theirs, theirsAt := q.Proxies(MajoritySide)
		s := &sides{Trial: t, majority: true, minority: "redlock-1 and redlock-2", nodes: q.Nodes[few:]}
		s.cut = func(_ context.Context, d faultproxy.Direction) (*servers.Isolation, error) {
			return servers.CutSides(s.minority, d, theirs[:few], ours[few:]), nil
		}
		return s.open(func(name string) *clients.Client {
			addrs := oursAt
			if name == "B" {
				addrs = theirsAt
			}
			return q.ClientOf(name, q.Connect(ctx, addrs), lease, 0)
		})
	}
}

// etcdSides are three servers of etcd. The leader is alone on its side.
func etcdSides(lease time.Duration) startSides {
	return func(ctx context.Context, t *lab.Trial) *sides {
		cluster, err := t.Stack.ProxiedEtcd(ctx)
		t.Must(err)
		x := failovers.OnEtcd(ctx, t, cluster)
		s := leaderAlone(ctx, x, lease, func(ctx context.Context, d faultproxy.Direction) (*servers.Isolation, error) {
			return cluster.Isolate(ctx, x.Leader, d)
		})
		s.electsAgain = true
		return s
	}
}

// zooKeeperSides are three servers of ZooKeeper. The leader is alone on its side.
func zooKeeperSides(lease time.Duration) startSides {
	return func(ctx context.Context, t *lab.Trial) *sides {
		nodes, err := t.Stack.ProxiedZooKeeper(ctx)
		t.Must(err)
		x := failovers.OnZooKeeper(ctx, t, nodes)
		return leaderAlone(ctx, x, lease, func(_ context.Context, d faultproxy.Direction) (*servers.Isolation, error) {
			return x.Leader.Isolate(d), nil
		})
	}
}

// leaderAlone are three servers. The leader is alone on its side.
func leaderAlone[N failovers.Server](
	ctx context.Context, x *failovers.Electing[N], lease time.Duration,
	cut func(context.Context, faultproxy.Direction) (*servers.Isolation, error),
) *sides {
	old := x.Leader
	rest := slices.DeleteFunc(slices.Clone(x.Nodes), func(n N) bool { return n == old })
	s := &sides{Trial: x.Trial, majority: true, minority: old.String(), cut: cut}
	s.serve = func(ctx context.Context) {
		x.Nodes = rest
		x.FindLeader(ctx)
	}
	return s.open(func(name string) *clients.Client {
		if name == "B" {
			return x.NewClient(ctx, name, lease, rest...)
		}
		return x.NewClient(ctx, name, lease, old)
	})
}
