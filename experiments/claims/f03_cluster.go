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
	"locklab/experiments/kit"
	"locklab/history"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:      "F03-cluster",
	Article: "A3, A4",
	Claim:   "In a Redis Cluster, too, a master that dies before it has replicated the lock loses it: two clients hold it.",
	Says: `
		A3 says that a lock needs consistency, and that a cluster of Redis prefers availability: its nodes agree in the end, not at
		every moment. A4 runs its lock on such a cluster.`,
	Lesson: experiments.Lesson{
		Question: `
			A cluster has three masters, and a majority of them decides which node serves a slot. The master with the lock dies before
			it has replicated the lock. Does the majority save the lock?`,
		Predict: `
			(a) Yes, a majority of the masters has the lock. (b) Yes, no replica without the lock is elected. (c) No, the replica is
			elected and grants the lock again.`,
		Why: `
			The majority decides which node is the master of a slot. It does not store the writes: each key is on one master and its
			replica. The replica follows asynchronously, as it does without a cluster. It was elected without the lock, and granted it
			to B while A's lease had not ended.`,
		Fix: `
			Do not count the masters of a cluster as copies of the lock. Check the fencing token at the resource, or use a store that
			answers only when a majority has the write.`,
		Limits: `
			The run cuts the replication on purpose; normally that moment is short. Each master has one replica, so there was no better
			one to elect. A client that reconnects immediately learns of the new master and stops sooner than A does here. No variant
			checks the fencing token.`,
		Next: "F01 (the same without a cluster), F04 (WAIT), L16 (the keys of a lock and the slots of a cluster). With the containers of " +
			"the compose file: `app lab run F03 --on docker`.",
		Level: experiments.Advanced,
	},
	Drawing: kit.FailoverDrawing,
	How: `
		Every node announces the address of a fault proxy, over which its replica follows it. The messages between the cluster's nodes
		do not pass the proxy. The proxy of the master that owns the lock's slot drops the replication. A takes the lock, the master is
		killed, and the other masters let the replica take its slots. B asks the cluster anew. A knows the dead master only, so that it
		learns of the new one late. A client that reconnects immediately asks the new master for its lock, and stops. In containers
		there is no proxy: the replicas are taken off their network until the master is dead.`,
	Anomaly:  "lost at failover",
	Needs:    []experiments.Need{experiments.RedisServer},
	Docker:   65 * time.Second,
	Slow:     true,
	Takes:    20 * time.Second,
	Trials:   1, // each variant starts six servers, and waits for a real election
	Check:    history.Counter,
	Variants: kit.FailoverVariants(clustered, kit.LongLease, kit.KilledOnce(clustered)),
})

// clustered is a cluster of three masters with a replica each. The master in question owns the lock's slot.
func clustered(ctx context.Context, t *experiments.Trial) *kit.Replicated {
	x := kit.StartServers(ctx, t, "cluster")
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
		slot, err := c.ClusterKeySlot(ctx, kit.LockKey).Result()
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
func electedByCluster(ctx context.Context, x *kit.Replicated) {
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
	x.Must(kit.HasRole(ctx, x.Master, "master"))
}
