package pview_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/pview"
)

// BenchmarkIncrement measures a page view under a lock that costs nothing: a read and a write. With a fencing token both are scripts.
func BenchmarkIncrement(b *testing.B) {
	testenv.Needs(b, testenv.RedisServer)
	conn := redis.NewClient(&redis.Options{Addr: testenv.Redis(b, true).Addr})
	defer conn.Close()
	c := pview.NewCounter(conn, func() redis.UniversalClient { return conn })
	last := uint64(0) // a token can be registered once
	withToken := testenv.LockerFunc(func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
		last++
		return fn(ctx, last)
	})
	for name, lock := range map[string]pview.Locker{"without a token": testenv.NoLock, "with a token": withToken} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Increment(b.Context(), "v3", lock); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
