package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/stack"
)

// replicated is a master with replicas, and somebody who replaces it when it has died. Before each node that is a process is a link.
type replicated struct {
	t        *experiments.Trial
	servers  *stack.Topology // what a client is told that comes now
	master   *stack.Node     // of the lock's key
	replicas []*stack.Node   // of that master
	replace  func(ctx context.Context, x *replicated) error
	mend     func() error // what was cut between the master and its replicas; nil: nothing was
}

// startReplicated starts servers of a kind.
type startReplicated func(ctx context.Context, t *experiments.Trial) (*replicated, error)

// comes is a client with a connection of its own, and a process of its own as far as the lock can see.
func (x *replicated) comes(ctx context.Context, lane string, lease time.Duration) (*client, error) {
	redis, err := connect(ctx, x.t, x.servers)
	if err != nil {
		return nil, err
	}
	o, err := v3(x.t, redis, lease)
	if err != nil {
		return nil, err
	}
	return newClient(x.t, lane, o.Strategy), nil
}

// fails kills the master and waits until another has taken its place.
func (x *replicated) fails(ctx context.Context) error {
	old := x.master
	if err := kill(x.t, old); err != nil {
		return err
	}
	if x.mend != nil { // nothing more can reach the replicas, and somebody must reach them
		if err := x.mend(); err != nil {
			return err
		}
	}
	if err := x.replace(ctx, x); err != nil {
		return fmt.Errorf("replace %s: %w", old.Name, err)
	}
	x.replicas = slices.DeleteFunc(slices.Clone(x.replicas), func(n *stack.Node) bool { return n == x.master })
	role, err := x.master.Info(ctx, "replication", "role")
	if err != nil {
		return err
	}
	x.t.Note(x.master.Name, "is the master now: role:"+role)
	return nil
}

// inStep waits until every replica has confirmed all that the master has written so far.
func (x *replicated) inStep(ctx context.Context) error {
	written, err := x.master.Number(ctx, "replication", "master_repl_offset")
	if err != nil {
		return err
	}
	for _, n := range x.replicas {
		err := n.Await(ctx, func(ctx context.Context) error {
			has, err := n.Number(ctx, "replication", "slave_repl_offset")
			if err == nil && has < written {
				err = fmt.Errorf("it has %d of %d bytes", has, written)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	x.t.Note(x.master.Name, fmt.Sprintf("every replica has what it has: %d bytes", written))
	return nil
}

// cutReplicas cuts the way from the master to replicas, until the master has died.
func (x *replicated) cutReplicas(ctx context.Context, from ...*stack.Node) error {
	proof, mend, err := x.master.CutReplicas(ctx, "probe:{"+lockKey+"}", from...)
	x.mend = mend
	x.t.Cleanup(mend)
	if err != nil {
		return err
	}
	text := "replication cut"
	for _, n := range from {
		text += " " + n.Name
	}
	x.t.Fault("replication of "+x.master.Name, text, proof)
	return nil
}

// failoverArms are those of F01 to F03. lease is of the holder whose server dies: where it waits for its end, a short one.
func failoverArms(start startReplicated, lease time.Duration, breaks experiments.Variant) []experiments.Variant {
	breaks.Expect, breaks.Strategy, breaks.Fault = experiments.Sometimes, "v3", true
	return []experiments.Variant{
		{Name: "no kill", Run: unharmed(start)},
		{Name: "killed after replication", Fault: true, Run: killAfterReplication(start, lease)},
		breaks,
	}
}

// onceKilled is the arm that shows two holders.
func onceKilled(start startReplicated) experiments.Variant {
	return experiments.Variant{Name: "link cut, lock taken, killed", Run: killBeforeReplication(start)}
}

func unharmed(start startReplicated) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		x, err := start(ctx, t)
		if err != nil {
			return err
		}
		return contest(ctx, t,
			func(ctx context.Context) (*client, error) { return x.comes(ctx, "A", longLease) },
			func(ctx context.Context) (*client, error) { return x.comes(ctx, "B", longLease) },
		)
	}
}

func killAfterReplication(start startReplicated, lease time.Duration) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		x, err := start(ctx, t)
		if err != nil {
			return err
		}
		if t.InContainers() { // to kill one takes a while
			lease = max(lease, 5*time.Second)
		}
		err = contest(ctx, t,
			func(ctx context.Context) (*client, error) { return x.comes(ctx, "A", lease) },
			func(ctx context.Context) (*client, error) {
				if err := x.inStep(ctx); err != nil {
					return nil, err
				}
				if err := x.fails(ctx); err != nil {
					return nil, err
				}
				return x.comes(ctx, "B", lease)
			},
		)
		return errors.Join(err, refused(t))
	}
}

// killBeforeReplication lets A take the lock on a master that replicates nothing, and dies.
func killBeforeReplication(start startReplicated) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		x, err := start(ctx, t)
		if err != nil {
			return err
		}
		return contest(ctx, t, x.cutOff("A"), x.afterFailure("B"))
	}
}

// cutOff is a taker that comes when nothing reaches the replicas any more. It knows the master only, and will hear of no other: one that
// hears of the new master at once asks it for its lock, and stops. Without this it would depend on luck which of the two is first, the
// next holder's work or the news.
func (x *replicated) cutOff(lane string) taker {
	return func(ctx context.Context) (*client, error) {
		if err := x.cutReplicas(ctx, x.replicas...); err != nil {
			return nil, err
		}
		known := *x
		known.servers = x.servers.At(x.master.AnnouncedAddr())
		return known.comes(ctx, lane, longLease)
	}
}

// afterFailure is a taker that comes when the master has been replaced.
func (x *replicated) afterFailure(lane string) taker {
	return func(ctx context.Context) (*client, error) {
		if err := x.fails(ctx); err != nil {
			return nil, err
		}
		return x.comes(ctx, lane, longLease)
	}
}

// masterSlave is a master with three replicas; an operator promotes the first of them, and tells the clients.
func masterSlave(ctx context.Context, t *experiments.Trial) (*replicated, error) {
	servers, err := t.Stack.ProxiedTopology(ctx, "master-slave", t.Real)
	if err != nil {
		return nil, err
	}
	return &replicated{
		t: t, servers: servers, master: servers.Nodes[0], replicas: servers.Nodes[1:],
		replace: func(ctx context.Context, x *replicated) error { return x.promote(ctx, x.replicas[0]) },
	}, nil
}

// promote makes a replica the master, and tells it to who comes from now on.
func (x *replicated) promote(ctx context.Context, n *stack.Node) error {
	if err := n.WithClient(func(c *redis.Client) error { return c.Do(ctx, "REPLICAOF", "NO", "ONE").Err() }); err != nil {
		return err
	}
	x.master, x.servers = n, x.servers.At(n.AnnouncedAddr())
	return n.Await(ctx, func(ctx context.Context) error { return hasRole(ctx, n, "master") })
}

func hasRole(ctx context.Context, n *stack.Node, want string) error {
	role, err := n.Info(ctx, "replication", "role")
	if err == nil && role != want {
		err = fmt.Errorf("%s is a %s", n.Name, role)
	}
	return err
}
