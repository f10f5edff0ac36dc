package failovers

import (
	"context"
	"errors"
	"fmt"
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
	x.Must(x.Servers.AwaitSentinels(ctx, func(ctx context.Context, c *redis.SentinelClient) error {
		at, err := c.GetMasterAddrByName(ctx, stack.SentinelMaster).Result()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(x.Replicas, func(n *stack.Node) bool { return n.AnnouncedAddr() == at[0]+":"+at[1] })
		if i < 0 {
			return fmt.Errorf("it names %v", at)
		}
		x.Master = x.Replicas[i]
		return x.Master.HasRole(ctx, "master")
	}))
	if x.Master == old {
		x.Must(errors.New("no sentinel was asked"))
	}
}

// Clustered is a cluster of three masters with a replica each. The master in question owns the lock's slot.
func Clustered(ctx context.Context, t *experiments.Trial) *Replicated {
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
	for _, n := range x.Servers.Nodes {
		if n == old {
			continue
		}
		x.Must(n.Await(ctx, func(ctx context.Context) error {
			owner, err := n.OwnerOf(ctx, clients.LockKey)
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
	x.Must(x.Master.HasRole(ctx, "master"))
}
