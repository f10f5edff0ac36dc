package redislock_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/redislock"
	"locklab/topology"
)

var (
	sharedRedis = testenv.Shared[*servers.Node]{
		Need:  testenv.RedisServer,
		Start: func(ctx context.Context, s *servers.Stack) (*servers.Node, error) { return s.Redis(ctx, "redis", true) },
	}
	sharedCluster = testenv.Shared[*servers.Topology]{
		Need: testenv.RedisServer,
		Start: func(ctx context.Context, s *servers.Stack) (*servers.Topology, error) {
			return s.Topology(ctx, string(topology.Cluster), true)
		},
	}
)

// onEngines runs a test on a miniredis of its own, and on the redis-server that the tests share.
func onEngines(t *testing.T, test func(t *testing.T, addr string)) {
	t.Run("miniredis", func(t *testing.T) { test(t, testenv.Redis(t, false).Addr) })
	t.Run("redis-server", func(t *testing.T) { test(t, sharedRedis.Of(t).Addr) })
}

// Processes whose user may not publish, or use channels at all, hand a lock over nevertheless. The release says that it counts nobody, so
// the process lets those go first that poll.
func TestWithoutPubSubALockIsHandedOver(t *testing.T) {
	t.Parallel()
	addr := sharedRedis.Of(t).Addr
	for user, right := range map[string]string{"channelless": "resetchannels", "silent": "-publish"} {
		admin := testlocks.Client(t, addr)
		testlocks.Must(admin.Do(t.Context(), "acl", "setuser", user, "on", "nopass", "~*", "&*", "+@all", right).Result())(t)
		open := func() *redislock.Lock { // of another process
			c := redis.NewClient(&redis.Options{Addr: addr, Username: user, Password: "any", MaxRetries: -1, ContextTimeoutEnabled: true})
			t.Cleanup(func() { _ = c.Close() })
			r := testlocks.Must(redislock.New(c, lockstrategy.Timing{Request: testlocks.Patient(0)}))(t)
			t.Cleanup(func() { _ = r.Close() })
			return r
		}
		key := "lock:" + user
		lease := testlocks.Granted(t, open(), key)
		waiter := testlocks.InBackground(t, open(), key)
		testlocks.Released(t, lease)
		testlocks.Released(t, <-waiter)
		if others := lease.Holder().(lockstrategy.Yielder).Others(); others >= 0 {
			t.Errorf("%s: its release has notified %d others", right, others)
		}
	}
}
