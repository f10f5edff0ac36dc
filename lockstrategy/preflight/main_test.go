package preflight_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// client opens a client of one server that ends with the test.
func client(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}
