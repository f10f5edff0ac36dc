// Package wire lets the clients of package explore move on a real Redis, over go-redis. It stands apart because explore itself also runs in
// a browser, without a client library.
package wire

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy/articlelock"
)

// Redis is an [locklab/lab/explore.Server] that go-redis reaches.
type Redis struct{ Client redis.UniversalClient }

// Do sends one command.
func (r Redis) Do(ctx context.Context, command ...any) (any, error) {
	reply, err := r.Client.Do(ctx, command...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return reply, err
}

// Pass lets the lock's expiry come, if it has one, and waits until the server has ended it. A lease may be long, so no step before is late.
func (r Redis) Pass(ctx context.Context) error {
	left, err := r.Client.PTTL(ctx, articlelock.Key).Result()
	if err != nil || left < 0 { // it is gone, or has no expiry
		return err
	}
	if err := r.Client.PExpire(ctx, articlelock.Key, time.Millisecond).Err(); err != nil {
		return err
	}
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		if left, err = r.Client.PTTL(ctx, articlelock.Key).Result(); err != nil || left < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}
