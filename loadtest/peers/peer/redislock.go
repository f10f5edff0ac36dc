package peer

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// openRedislock opens a lock that polls with LinearBackoff: every 10 ms, or every 100 ms as in its README. It does not renew.
func openRedislock(client *redis.Client, delay time.Duration) Lock {
	locker := redislock.New(client)
	return func(ctx context.Context, key string) (func() error, error) {
		lock, err := locker.Obtain(ctx, key, lifetime, &redislock.Options{RetryStrategy: redislock.LinearBackoff(delay)})
		if err != nil {
			return nil, err
		}
		return func() error { return lock.Release(ctx) }, nil
	}
}
