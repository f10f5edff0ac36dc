package pview_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/pview"
)

// BenchmarkIncrement is one page view under a lock that costs nothing: a read and a write. With a fencing token both are scripts.
func BenchmarkIncrement(b *testing.B) {
	testenv.Needs(b, testenv.RedisServer)
	conn := redis.NewClient(&redis.Options{Addr: testenv.Redis(b, true).Addr})
	defer conn.Close()
	c := pview.NewCounter(conn, func() redis.UniversalClient { return conn })
	for name, lock := range map[string]pview.Locker{"without a token": noLock, "with a token": granted(1)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Increment(b.Context(), "v3", lock); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
