package topology

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// openSentinel opens clients that ask the sentinels for the master. After a failover the sentinels tell go-redis the new
// master, and it drops the connections to the old one.
func (r *Redis) openSentinel(ctx context.Context) error {
	r.Master = r.failover(false)
	r.replicas = []redis.UniversalClient{r.failover(true)}
	return until(ctx, r.Ping)
}

func (r *Redis) failover(replicas bool) *redis.Client {
	o := options(r.cfg.Access, r.cfg.Addrs...).Failover()
	o.MasterName, o.ReplicaOnly = r.cfg.SentinelMaster, replicas
	client := redis.NewFailoverClient(o)
	client.AddHook(named{r.String()})
	client.AddHook(later{})
	return client
}
