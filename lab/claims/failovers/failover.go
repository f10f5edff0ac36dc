package failovers

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/servers"
)

// Replicated is a master with replicas. Before each node that is a process is a proxy.
type Replicated struct {
	*lab.Trial
	Servers  *servers.Topology // as a client is told that comes now
	Master   *servers.Node     // of the lock's key
	Replicas []*servers.Node   // of that master
	Replace  func(ctx context.Context, x *Replicated)
	Probe    *clients.Client // measures a failover: see KillAndMeasure; nil: nothing does

	mend func() error // ends the drop between the master and its replicas; nil: there is none
}

// StartReplicated starts servers of a kind.
type StartReplicated func(ctx context.Context, t *lab.Trial) *Replicated

// StartServers starts a topology with a proxy before each node. The first node is the master.
func StartServers(ctx context.Context, t *lab.Trial, kind string) *Replicated {
	servers, err := t.Stack.ProxiedTopology(ctx, kind, t.Real)
	t.Must(err)
	return &Replicated{Trial: t, Servers: servers, Master: servers.Nodes[0], Replicas: servers.Nodes[1:]}
}

// MasterSlave is a master with three replicas. An operator promotes the first of them, and tells the clients.
func MasterSlave(ctx context.Context, t *lab.Trial) *Replicated {
	x := StartServers(ctx, t, "master-slave")
	x.Replace = func(ctx context.Context, x *Replicated) { x.Promote(ctx, x.Replicas[0]) }
	return x
}

// NewClient returns a client of the Redis lock with a connection of its own.
func (x *Replicated) NewClient(ctx context.Context, name string, lease time.Duration) *clients.Client {
	return clients.RedisLock(x.Trial, name, clients.Connect(ctx, x.Trial, x.Servers), lease)
}

// FailOver kills the master and waits until another node has taken its place.
func (x *Replicated) FailOver(ctx context.Context) {
	kill := func() {
		clients.Kill(x.Trial, x.Master)
		if x.mend != nil { // the dead master sends nothing more, and another node must reach the replicas
			x.Must(x.mend())
		}
	}
	if x.Probe == nil {
		kill()
	} else {
		KillAndMeasure(ctx, x.Trial, x.Probe, kill)
	}
	x.Replace(ctx, x)
	x.Replicas = slices.DeleteFunc(slices.Clone(x.Replicas), func(n *servers.Node) bool { return n == x.Master })
	role, err := x.Master.Info(ctx, "replication", "role")
	x.Must(err)
	x.Note(x.Master.Name, "is the master now: role:"+role)
}

// AwaitReplication waits until every replica has confirmed everything that the master has written so far.
func (x *Replicated) AwaitReplication(ctx context.Context) {
	clients.AwaitReplication(ctx, x.Trial, x.Master, x.Replicas)
}

// CutReplication drops what the master sends to replicas, until it has been killed.
func (x *Replicated) CutReplication(ctx context.Context, replicas ...*servers.Node) {
	proof, mend, err := x.Master.CutReplicas(ctx, "probe:{"+clients.LockKey+"}", replicas...)
	x.mend = mend
	x.Cleanup(mend)
	x.Must(err)
	text := "replication cut"
	for _, n := range replicas {
		text += " " + n.Name
	}
	x.Fault("replication of "+x.Master.Name, text, proof)
}

// Promote makes a replica the master, for every client that comes from now on.
func (x *Replicated) Promote(ctx context.Context, n *servers.Node) {
	x.Must(n.WithClient(func(c *redis.Client) error { return c.Do(ctx, "REPLICAOF", "NO", "ONE").Err() }))
	x.Master, x.Servers = n, x.Servers.At(n.AnnouncedAddr())
	x.Must(n.Await(ctx, func(ctx context.Context) error { return n.HasRole(ctx, "master") }))
}

// Variants are a control without a kill, a kill after the lock was replicated, and a variant that violates. lease is
// that of the holder whose server dies after the replication. B waits for its end.
func Variants(start StartReplicated, lease time.Duration, violates lab.Variant) []lab.Variant {
	violates.Expect, violates.Strategy, violates.Fault = lab.Sometimes, "v3", true
	return []lab.Variant{
		{Name: "no kill", Run: withoutKill(start)},
		{Name: "killed after replication", Fault: true, Run: killAfterReplication(start, lease)},
		violates,
	}
}

// KilledOnce is the variant in which the master is killed before it replicated the lock: two clients hold it.
func KilledOnce(start StartReplicated) lab.Variant {
	return lab.Variant{Name: "replication cut, lock taken, killed", Run: func(ctx context.Context, t *lab.Trial) {
		x, s := start(ctx, t), clients.NewSuccession(t)
		s.Come(ctx, x.BeforeReplication(ctx, "A"))
		x.FailOver(ctx)
		s.Come(ctx, x.NewClient(ctx, "B", clients.LongLease))
		s.Finish(ctx)
	}}
}

func withoutKill(start StartReplicated) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x, s := start(ctx, t), clients.NewSuccession(t)
		s.Come(ctx, x.NewClient(ctx, "A", clients.LongLease))
		s.Come(ctx, x.NewClient(ctx, "B", clients.LongLease))
		s.Finish(ctx)
	}
}

func killAfterReplication(start StartReplicated, lease time.Duration) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x, s := start(ctx, t), clients.NewSuccession(t)
		lease := t.Scaled(lease)
		if t.InContainers() { // to kill one takes a while
			lease = max(lease, 5*time.Second)
		}
		s.Come(ctx, x.NewClient(ctx, "A", lease))
		x.AwaitReplication(ctx)
		x.FailOver(ctx)
		s.Come(ctx, x.NewClient(ctx, "B", lease))
		s.Finish(ctx)
		clients.MustRefuse(t, "B")
	}
}

// BeforeReplication is a client that comes when nothing reaches the replicas any more. It knows the master only, and will not
// learn of a new one. A client that reconnects immediately asks the new master for its lock, and stops. Then luck would
// decide whether it or the next holder is first.
func (x *Replicated) BeforeReplication(ctx context.Context, name string) *clients.Client {
	x.CutReplication(ctx, x.Replicas...)
	known := *x
	known.Servers = x.Servers.At(x.Master.AnnouncedAddr())
	return known.NewClient(ctx, name, clients.LongLease)
}
