package topology

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Bounds of every client.
const (
	dial   = time.Second
	answer = 2 * time.Second
	queue  = 5 * time.Second // for a free connection of the pool
	pool   = 64              // connections per server, so that a burst's requests really overlap

	never = -1 // go-redis's word for: do not send a command again
)

// options are those of one server; the openers copy them into what go-redis wants for theirs.
func options(addr, password string) *redis.Options {
	return &redis.Options{
		Addr:                     addr,
		Password:                 password,
		MaxRetries:               never,
		DialTimeout:              dial,
		DialerRetries:            1,
		ReadTimeout:              answer,
		WriteTimeout:             answer,
		ContextTimeoutEnabled:    true,
		PoolSize:                 pool,
		PoolTimeout:              queue,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func ping(ctx context.Context, client redis.UniversalClient) error {
	return client.Ping(ctx).Err()
}

// until repeats try until it succeeds or ctx ends; then it returns try's last error, which says
// more than the context's.
func until(ctx context.Context, try func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, answer)
		err := try(attempt)
		cancel()
		if err == nil {
			return nil
		}
		pause := time.NewTimer(50 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("not reached in time: %w", err)
		case <-pause.C:
		}
	}
}
