package redislock_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/topology"
	"locklab/versions"
)

// A key is taken on every topology or on none. One that is refused is refused before anything is sent: here there is no server.
func TestAKeyWithoutATagIsRefused(t *testing.T) {
	t.Parallel()
	lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: testlocks.Client(t, "127.0.0.1:1")})
	for _, key := range []string{"job:a}b", "job:a}", "}", "job:a{b", "{", "a}b{c", "a{}b", "a{}{b}", ""} {
		if _, err := lock.Acquire(t.Context(), key); errors.Is(err, lockstrategy.ErrUnavailable) || !errors.Is(err, lockstrategy.ErrNotAcquired) {
			t.Errorf("%q is refused with %v", key, err)
		}
	}
}

// The key, its counter and its channel lie in one slot of a cluster.
func TestAKeyWithATagIsTaken(t *testing.T) {
	t.Parallel()
	config := topology.Config{Kind: topology.Cluster, Addrs: sharedCluster.Of(t).Addrs}
	cluster := testlocks.Must(topology.Open(testenv.Context(t), config))(t)
	t.Cleanup(func() { _ = cluster.Close() })
	for _, c := range []redis.UniversalClient{cluster.Master, testlocks.Client(t, sharedRedis.Of(t).Addr)} {
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: c})
		for _, key := range []string{"job:ab", "lock:order:{7}", "{7}", "a}b{c}d", "a{b}c}d{", "a{{b}"} {
			testlocks.Released(t, testlocks.Granted(t, lock, key))
		}
	}
}
