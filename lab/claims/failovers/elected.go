package failovers

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients"
)

// Sentinels is a master with three replicas and three sentinels.
func Sentinels(ctx context.Context, t *lab.Trial) *Replicated {
	x := StartServers(ctx, t, "sentinel")
	x.Replace = electedBySentinel
	return x
}

// electedBySentinel waits until every sentinel names the same new master, and that node agrees.
func electedBySentinel(ctx context.Context, x *Replicated) {
	promoted, err := x.Servers.AwaitPromotion(ctx, clients.LockKey, x.Master)
	x.Must(err)
	x.Master = promoted
}

// Clustered is a cluster of three masters with a replica each. The master in question owns the lock's slot.
func Clustered(ctx context.Context, t *lab.Trial) *Replicated {
	x := StartServers(ctx, t, "cluster")
	x.Replace = electedByCluster
	var err error
	x.Master, err = x.Servers.MasterOf(ctx, clients.LockKey)
	t.Must(err)
	x.Replicas, err = x.Servers.ReplicasOf(ctx, x.Master)
	t.Must(err)
	if len(x.Replicas) != 1 {
		t.Must(fmt.Errorf("%d nodes follow %s, not one", len(x.Replicas), x.Master.Name))
	}
	return x
}

// electedByCluster waits until every remaining node sees the replica as the owner of the lock's slot, and the cluster as whole.
func electedByCluster(ctx context.Context, x *Replicated) {
	old := x.Master
	x.Master = x.Replicas[0]
	x.Must(x.Servers.AwaitNamed(ctx, clients.LockKey, x.Master, old))
	for _, n := range x.Servers.Nodes {
		if n == old {
			continue
		}
		x.Must(n.Await(ctx, func(ctx context.Context) error {
			return n.WithClient(func(c *redis.Client) error {
				info, err := c.ClusterInfo(ctx).Result()
				if err == nil && !strings.Contains(info, "cluster_state:ok\r\n") {
					err = fmt.Errorf("%s does not report cluster_state:ok", n.Name)
				}
				return err
			})
		}))
	}
	x.Must(x.Master.HasRole(ctx, "master"))
}
