package peer

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// pause is what a poller with a short pause sleeps between two tries.
const pause = 10 * time.Millisecond

// lifetime is the expiry of a lock that is not renewed; no run lasts as long.
const lifetime = 60 * time.Second

var compareAndDelete = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// naive is what many write first: SET NX PX every 10 ms, and delete what is one's own.
type naive struct{ redis *redis.Client }

func (n naive) Lock(ctx context.Context, key string) (func() error, error) {
	value := strconv.FormatUint(rand.Uint64(), 36)
	for {
		err := n.redis.SetArgs(ctx, key, value, redis.SetArgs{Mode: "NX", TTL: lifetime}).Err()
		if err == nil {
			return func() error { return compareAndDelete.Run(ctx, n.redis, []string{key}, value).Err() }, nil
		}
		if !errors.Is(err, redis.Nil) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (naive) Close() error { return nil }

// ping is no lock but a yardstick: one round trip.
type ping struct{ redis *redis.Client }

func (p ping) Lock(ctx context.Context, _ string) (func() error, error) {
	return func() error { return nil }, p.redis.Ping(ctx).Err()
}

func (ping) Close() error { return nil }
