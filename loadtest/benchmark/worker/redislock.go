package worker

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// openRedislock opens a lock that polls with LinearBackoff: every 10 ms. It does not renew.
func openRedislock(client *redis.Client) Lock {
	locker := redislock.New(client)
	return func(ctx context.Context, key string) (func() error, error) {
		lock, err := locker.Obtain(ctx, key, lifetime, &redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond)})
		if err != nil {
			return nil, err
		}
		return func() error { return lock.Release(ctx) }, nil
	}
}
