package topology

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// openSentinel asks the sentinels where the master is. After a failover go-redis hears of the new
// master from them and drops the connections to the old one.
func (r *Redis) openSentinel(ctx context.Context) error {
	r.Master = r.failover(false)
	r.replicas = []redis.UniversalClient{r.failover(true)}
	return until(ctx, r.Ping)
}

func (r *Redis) failover(replicas bool) *redis.Client {
	o := options("", r.cfg.Access)
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		ReplicaOnly:           replicas,
		MasterName:            r.cfg.SentinelMaster,
		SentinelAddrs:         r.cfg.Addrs,
		Password:              o.Password,
		Dialer:                o.Dialer,
		MaxRetries:            o.MaxRetries,
		DialTimeout:           o.DialTimeout,
		DialerRetries:         o.DialerRetries,
		ReadTimeout:           o.ReadTimeout,
		WriteTimeout:          o.WriteTimeout,
		ContextTimeoutEnabled: o.ContextTimeoutEnabled,
		PoolSize:              o.PoolSize,
		PoolTimeout:           o.PoolTimeout,
	})
	client.AddHook(named{r.String()})
	return client
}
