package peer

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// peerRedislock polls with LinearBackoff: 10 ms, or the 100 ms of its README. It does not renew.
type peerRedislock struct {
	client *redislock.Client
	delay  time.Duration
}

func newRedislock(client *redis.Client, slow bool) Lock {
	delay := pause
	if slow {
		delay *= 10
	}
	return peerRedislock{redislock.New(client), delay}
}

func (r peerRedislock) Lock(ctx context.Context, key string) (func() error, error) {
	lock, err := r.client.Obtain(ctx, key, lifetime, &redislock.Options{RetryStrategy: redislock.LinearBackoff(r.delay)})
	if err != nil {
		return nil, err
	}
	return func() error { return lock.Release(ctx) }, nil
}

func (peerRedislock) Close() error { return nil }
