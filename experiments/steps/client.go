package steps

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lockstrategy/naive"
)

// Client is a server that go-redis reaches. Its time passes by itself.
type Client struct{ redis.UniversalClient }

// Do sends one command.
func (c Client) Do(ctx context.Context, command ...any) (any, error) {
	answer, err := c.UniversalClient.Do(ctx, command...).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return answer, err
}

// Pass waits until the lock is gone, or has no expiry.
func (c Client) Pass(ctx context.Context) error {
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for {
		left, err := c.PTTL(ctx, naive.Key).Result()
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
