package lockstrategy_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
)

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
func TestRedisLeavesJavaItsChance(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.RedisServer)
	const key, channel, chances = "lock:k", "redisson_lock__channel:{lock:k}", 200
	addr := testenv.Redis(t, true).Addr
	lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: client(t, addr), HandOff: lockstrategy.HandOff{Count: 16}})
	ctx, cancel := context.WithCancel(testenv.Context(t))
	java := client(t, addr)
	messages := java.Subscribe(ctx, channel)
	defer messages.Close()
	if _, err := messages.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				lease, err := lock.Acquire(ctx, key)
				if err != nil {
					return
				}
				spin(100 * time.Microsecond)
				_ = lease.Release(context.Background())
			}
		})
	}
	grants := 0
	for n := 0; n < chances; {
		message := must(messages.ReceiveMessage(ctx))(t)
		if message.Payload != "0" {
			continue
		}
		n++
		spin(500 * time.Microsecond) // a JVM is not as fast as we are
		if must(javaTakes.Run(ctx, java, []string{key}).Int())(t) == 1 {
			grants++
			must(javaGives.Run(ctx, java, []string{key, channel}).Result())(t)
		}
	}
	cancel()
	callers.Wait()
	t.Logf("Java had %d grants of %d chances", grants, chances)
	if grants < chances/4 {
		t.Errorf("Java had %d grants of %d chances", grants, chances)
	}
}

// spin is busy for so long: a timer would be later than that.
func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}
