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

// A key is taken on every topology or on none. One that is refused is refused before anything is sent, with what to do.
func TestTheBracesOfAKey(t *testing.T) {
	t.Parallel()
	cluster := testlocks.Must(topology.Open(testenv.Context(t), topology.Config{Kind: topology.Cluster, Addrs: sharedCluster.Of(t).Addrs}))(t)
	t.Cleanup(func() { _ = cluster.Close() })
	for what, c := range map[string]redis.UniversalClient{
		"a single Redis": testlocks.Client(t, testenv.Redis(t, false).Addr), "a cluster": cluster.Master,
	} {
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: c})
		for key, taken := range map[string]bool{
			"job:ab": true, "lock:order:{7}": true, "{7}": true, "a}b{c}d": true, "a{b}c}d{": true, "a{{b}": true,
			"job:a}b": false, "job:a}": false, "}": false, "job:a{b": false, "{": false, "a}b{c": false, "a{}b": false, "a{}{b}": false, "": false,
		} {
			lease, err := lock.Acquire(t.Context(), key)
			switch {
			case taken:
				testlocks.Released(t, testlocks.Must(lease, err)(t))
			case err == nil:
				testlocks.Released(t, lease)
				t.Errorf("%s takes %q", what, key)
			case errors.Is(err, lockstrategy.ErrUnavailable) || !errors.Is(err, lockstrategy.ErrNotAcquired):
				t.Errorf("%s: %q is refused with %v", what, key, err)
			}
		}
	}
}
