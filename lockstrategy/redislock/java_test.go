package redislock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy/localqueue"
	"locklab/versions"
)

const javaKey, javaChannel = "lock:k", "redisson_lock__channel:{lock:k}"

// java takes the lock as Redisson does when it is notified that it is free: once, a moment later.
var (
	javaTakes = redis.NewScript(`if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hset', KEYS[1], 'java:1', 1)
redis.call('pexpire', KEYS[1], 30000)
return 1`)
	javaGives = redis.NewScript(`redis.call('del', KEYS[1]) redis.call('publish', KEYS[2], '0') return 1`)
)

// One process with many callers leaves Java its chance after each turn. It receives its own release as well, and must not wake up by
// that. Real Redisson does not show it where two processes of ours notify each other.
//
// Java must ask within milliseconds. A busy machine runs it later than that, but not in each of three rounds.
func TestRedisLeavesJavaItsChance(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	addr := testenv.Redis(t, true).Addr
	lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: testlocks.Client(t, addr), HandOff: localqueue.HandOff{Count: 16}})
	ctx, cancel := context.WithCancel(testenv.Context(t))
	java := testlocks.Client(t, addr)
	messages := java.Subscribe(ctx, javaChannel)
	defer messages.Close()
	if _, err := messages.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	defer callers.Wait()
	defer cancel()
	for range 4 {
		callers.Go(func() {
			for {
				lease, err := lock.Acquire(ctx, javaKey)
				if err != nil {
					return
				}
				spin(100 * time.Microsecond)
				_ = lease.Release(context.Background())
			}
		})
	}
	const chances = 200
	for range 3 {
		grants := javaGrants(ctx, t, java, messages, chances)
		if t.Logf("Java had %d grants of %d chances", grants, chances); grants >= chances/4 {
			return
		}
	}
	t.Error("Java had too few")
}

// javaGrants counts how often Java is granted the key when it has been notified so many times.
func javaGrants(ctx context.Context, t *testing.T, java *redis.Client, messages *redis.PubSub, chances int) (grants int) {
	t.Helper()
	for n := 0; n < chances; {
		message := testlocks.Must(messages.ReceiveMessage(ctx))(t)
		if message.Payload != "0" {
			continue
		}
		n++
		spin(500 * time.Microsecond) // a JVM is not as fast as we are
		if testlocks.Must(javaTakes.Run(ctx, java, []string{javaKey}).Int())(t) == 1 {
			grants++
			testlocks.Must(javaGives.Run(ctx, java, []string{javaKey, javaChannel}).Result())(t)
		}
	}
	return grants
}

// spin is busy for so long: a timer would be later than that.
func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}
