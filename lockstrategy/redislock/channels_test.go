package redislock_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/versions"
)

// limited opens a client whose user may do everything but what rules, ACL rules of Redis, take away.
func limited(t *testing.T, addr string, rules ...any) *redis.Client {
	t.Helper()
	all := append([]any{"acl", "setuser", "lab", "on", ">secret", "~*", "+@all"}, rules...)
	if err := testlocks.Client(t, addr).Do(t.Context(), all...).Err(); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: addr, Username: "lab", Password: "secret", MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Two processes whose user may not publish share a lock that both want all the time: they poll, and each yields.
func TestWithoutPubSubProcessesShare(t *testing.T) {
	for _, rights := range []string{"resetchannels", "-publish"} {
		t.Run(rights, func(t *testing.T) {
			t.Parallel()
			testenv.Needs(t, testenv.RedisServer)
			addr := testenv.Redis(t, true).Addr
			share(t, func() *redis.Client { return limited(t, addr, "&*", rights) })
		})
	}
}

// share demands that of two processes none has many times as much as the other. A machine that is busy may serve one of them late, but not
// time after time.
func share(t *testing.T, connect func() *redis.Client) {
	t.Helper()
	for range 3 {
		one, two := grantsOfTwo(t, connect)
		t.Logf("grants: %d and %d", one, two)
		if t.Failed() || max(one, two) <= 5*min(one, two) {
			return
		}
	}
	t.Error("one of them has nearly all")
}

// grantsOfTwo lets two processes want a key all the time until each has had its share.
func grantsOfTwo(t *testing.T, connect func() *redis.Client) (one, two int64) {
	t.Helper()
	var grants [2]atomic.Int64
	var all sync.WaitGroup
	enough := func() bool { return grants[0].Load() >= 40 && grants[1].Load() >= 40 || t.Failed() }
	for p := range grants {
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: connect(), HandOff: localqueue.HandOff{Count: 4}})
		for range 2 {
			all.Go(func() {
				for !enough() {
					lease, err := lock.Acquire(t.Context(), "lock:k", lockstrategy.WaitAtMost(time.Minute))
					if err != nil {
						t.Error(err)
						return
					}
					grants[p].Add(1)
					if err := lease.Release(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	all.Wait()
	return grants[0].Load(), grants[1].Load()
}
