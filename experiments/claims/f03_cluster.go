package claims

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/history"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:       "F03-cluster",
	Article:  "A3, A4",
	Claim:    "In a Redis Cluster, too, a master that dies before it has replicated the lock loses it: two clients hold it.",
	Says:     "A lock wants consistency and a cluster of Redis favours availability: it elects a replica that may not have the last writes.",
	Drawing:  failoverDrawing,
	How:      "Every node announces the address of a link of ours, over which its replica follows it, while the cluster gossips past it. The link of the master that owns the lock's slot is cut for its replica, A takes the lock, the master is killed, and the others let the replica take its slots. B asks the cluster anew. A knows the dead master only, so that it hears of the new one late: one that reconnects at once asks the new master for its lock, and stops. In containers there is no link: the replicas are taken off their network until the master is dead.",
	Anomaly:  "lost at failover",
	Needs:    []experiments.Need{experiments.RedisServer},
	Docker:   true,
	Slow:     true,
	Takes:    20 * time.Second,
	Trials:   1, // each arm starts six servers, and waits for a real election
	Check:    history.Counter,
	Variants: failoverArms(clustered, longLease, onceKilled(clustered)),
})

// clustered is a cluster of three masters with a replica each; the master in question owns the lock's slot.
func clustered(ctx context.Context, t *experiments.Trial) (*replicated, error) {
	servers, err := t.Stack.ProxiedTopology(ctx, "cluster", t.Real)
	if err != nil {
		return nil, err
	}
	x := &replicated{t: t, servers: servers, replace: electedByCluster}
	at, err := slotOwner(ctx, servers.Nodes[0])
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(servers.Nodes, func(n *stack.Node) bool { return n.AnnouncedAddr() == at })
	if i < 0 {
		return nil, fmt.Errorf("%s owns the lock's slot, which is none of ours", at)
	}
	x.master = servers.Nodes[i]
	for _, n := range servers.Nodes {
		follows, err := follows(ctx, n, x.master)
		if err != nil {
			return nil, err
		}
		if follows {
			x.replicas = append(x.replicas, n)
		}
	}
	if len(x.replicas) != 1 {
		return nil, fmt.Errorf("%d nodes follow %s, not one", len(x.replicas), x.master.Name)
	}
	return x, nil
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

// slotOwner is the address of the master that a node believes to own the lock's slot.
func slotOwner(ctx context.Context, n *stack.Node) (addr string, err error) {
	err = n.WithClient(func(c *redis.Client) error {
		slot, err := c.ClusterKeySlot(ctx, lockKey).Result()
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

// electedByCluster waits until every node that is left sees the replica as the owner of the lock's slot, and the cluster whole.
func electedByCluster(ctx context.Context, x *replicated) error {
	old := x.master
	x.master = x.replicas[0]
	for _, n := range x.servers.Nodes {
		if n == old {
			continue
		}
		err := n.Await(ctx, func(ctx context.Context) error {
			owner, err := slotOwner(ctx, n)
			if err != nil {
				return err
			}
			if owner != x.master.AnnouncedAddr() {
				return fmt.Errorf("%s owns the slot", owner)
			}
			return n.WithClient(func(c *redis.Client) error {
				info, err := c.ClusterInfo(ctx).Result()
				if err == nil && !strings.Contains(info, "cluster_state:ok\r\n") {
					err = fmt.Errorf("%s does not report cluster_state:ok", n.Name)
				}
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	return hasRole(ctx, x.master, "master")
}
