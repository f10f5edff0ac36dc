package topology

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// openSentinel asks the sentinels where the master is. After a failover go-redis hears of the new
// master from them and drops the connections to the old one.
func (r *Redis) openSentinel(ctx context.Context) error {
	r.Master = redis.NewFailoverClient(r.failover())
	replicas := r.failover()
	replicas.ReplicaOnly = true
	r.replicas = []redis.UniversalClient{redis.NewFailoverClient(replicas)}
	return until(ctx, r.Ping)
}

func (r *Redis) failover() *redis.FailoverOptions {
	o := options("", r.cfg.Password)
	return &redis.FailoverOptions{
		MasterName:            r.cfg.SentinelMaster,
		SentinelAddrs:         r.cfg.Addrs,
		Password:              o.Password,
		MaxRetries:            o.MaxRetries,
		DialTimeout:           o.DialTimeout,
		DialerRetries:         o.DialerRetries,
		ReadTimeout:           o.ReadTimeout,
		WriteTimeout:          o.WriteTimeout,
		ContextTimeoutEnabled: o.ContextTimeoutEnabled,
		PoolSize:              o.PoolSize,
		PoolTimeout:           o.PoolTimeout,
	}
}
