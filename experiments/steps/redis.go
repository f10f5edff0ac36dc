package steps

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy/naive"
)

// Redis is a [Server] that go-redis reaches. Its time passes by itself.
type Redis struct{ redis.UniversalClient }

// Do sends one command.
func (r Redis) Do(ctx context.Context, command ...any) (any, error) {
	reply, err := r.UniversalClient.Do(ctx, command...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return reply, err
}

// Pass waits until the lock is gone, or has no expiry.
func (r Redis) Pass(ctx context.Context) error {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		left, err := r.PTTL(ctx, naive.Key).Result()
		if err != nil || left < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
}
