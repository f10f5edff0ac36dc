package failovers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/stack"
)

// Sentinels is a master with three replicas and three sentinels.
func Sentinels(ctx context.Context, t *experiments.Trial) *Replicated {
	x := StartServers(ctx, t, "sentinel")
	x.Replace = electedBySentinel
	return x
}

// electedBySentinel waits until every sentinel names the same new master, and that node agrees.
func electedBySentinel(ctx context.Context, x *Replicated) {
	old := x.Master
	for _, sentinel := range x.Servers.Sentinels {
		AwaitSentinel(ctx, x, sentinel, func(ctx context.Context, c *redis.SentinelClient) error {
			at, err := c.GetMasterAddrByName(ctx, stack.SentinelMaster).Result()
			if err != nil {
				return err
			}
			i := slices.IndexFunc(x.Replicas, func(n *stack.Node) bool { return n.AnnouncedAddr() == at[0]+":"+at[1] })
			if i < 0 {
				return fmt.Errorf("it names %v", at)
			}
			x.Master = x.Replicas[i]
			return HasRole(ctx, x.Master, "master")
		})
	}
	if x.Master == old {
		x.Must(errors.New("no sentinel was asked"))
	}
}

// AwaitSentinel asks until the answer is as it should be.
func AwaitSentinel(ctx context.Context, x *Replicated, n *stack.Node, question func(context.Context, *redis.SentinelClient) error) {
	c := redis.NewSentinelClient(clients.OneAttempt(n.Addr))
	defer c.Close()
	x.Must(n.Await(ctx, func(ctx context.Context) error { return question(ctx, c) }))
}

// Clustered is a cluster of three masters with a replica each. The master in question owns the lock's slot.
func Clustered(ctx context.Context, t *experiments.Trial) *Replicated {
	x := StartServers(ctx, t, "cluster")
	x.Replace, x.Replicas = electedByCluster, nil
	owner, err := slotOwner(ctx, x.Master)
	t.Must(err)
	i := slices.IndexFunc(x.Servers.Nodes, func(n *stack.Node) bool { return n.AnnouncedAddr() == owner })
	if i < 0 {
		t.Must(fmt.Errorf("%s owns the lock's slot, and is not a node of this cluster", owner))
	}
	x.Master = x.Servers.Nodes[i]
	for _, n := range x.Servers.Nodes {
		follows, err := follows(ctx, n, x.Master)
		t.Must(err)
		if follows {
			x.Replicas = append(x.Replicas, n)
		}
	}
	if len(x.Replicas) != 1 {
		t.Must(fmt.Errorf("%d nodes follow %s, not one", len(x.Replicas), x.Master.Name))
	}
	return x
}

// follows reports whether a node copies a master.
func follows(ctx context.Context, n, master *stack.Node) (bool, error) {
	role, err := n.Info(ctx, "replication", "role")
	if err != nil || role != "slave" {
		return false, err
	}
	host, err := n.Info(ctx, "replication", "master_host")
	if err != nil {
		return false, err
	}
	port, err := n.Info(ctx, "replication", "master_port")
	return net.JoinHostPort(host, port) == master.AnnouncedAddr(), err
}

// slotOwner is the address of the master that owns the lock's slot, as a node believes.
func slotOwner(ctx context.Context, n *stack.Node) (addr string, err error) {
	err = n.WithClient(func(c *redis.Client) error {
		slot, err := c.ClusterKeySlot(ctx, clients.LockKey).Result()
		if err != nil {
			return err
		}
		ranges, err := c.ClusterSlots(ctx).Result() //nolint:staticcheck // deprecated, and what go-redis's cluster client asks
		for _, r := range ranges {
			if int64(r.Start) <= slot && slot <= int64(r.End) && len(r.Nodes) > 0 {
				addr = r.Nodes[0].Addr
			}
		}
		return err
	})
	return addr, err
}

// electedByCluster waits until every remaining node sees the replica as the owner of the lock's slot, and the cluster as whole.
func electedByCluster(ctx context.Context, x *Replicated) {
	old := x.Master
	x.Master = x.Replicas[0]
	for _, n := range x.Servers.Nodes {
		if n == old {
			continue
		}
		x.Must(n.Await(ctx, func(ctx context.Context) error {
			owner, err := slotOwner(ctx, n)
			if err != nil {
				return err
			}
			if owner != x.Master.AnnouncedAddr() {
				return fmt.Errorf("%s owns the slot", owner)
			}
			return n.WithClient(func(c *redis.Client) error {
				info, err := c.ClusterInfo(ctx).Result()
				if err == nil && !strings.Contains(info, "cluster_state:ok\r\n") {
					err = fmt.Errorf("%s does not report cluster_state:ok", n.Name)
				}
				return err
			})
		}))
	}
	x.Must(HasRole(ctx, x.Master, "master"))
}
