package lockstrategy_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
)

func TestRedisConforms(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		node := testenv.Redis(t, real)
		locktest.Run(t, redisBackend(t, func(t *testing.T) redis.UniversalClient { return client(t, node.Addr) }))
	})
}

// redisBackend is the Redis lock over whatever connect connects to.
func redisBackend(t *testing.T, connect func(*testing.T) redis.UniversalClient) locktest.Backend {
	admin := connect(t)
	return locktest.Backend{
		Shared: true,
		Client: func(t *testing.T, lease time.Duration) (lockstrategy.Strategy, func()) {
			c := connect(t)
			return open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: c, Lease: lease}), func() { _ = c.Close() }
		},
		Forget: func(t *testing.T, key string) {
			if err := admin.Del(t.Context(), key).Err(); err != nil {
				t.Fatal(err)
			}
		},
		Held: func(t *testing.T, key string) bool {
			n, err := admin.Exists(t.Context(), key).Result()
			if err != nil {
				t.Fatal(err)
			}
			return n > 0
		},
	}
}

// What Java sees: research of Redisson's RLock, section "Redisson wire protocol".
func TestRedisSpeaksRedisson(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		admin := client(t, testenv.Redis(t, real).Addr)
		lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: admin, Lease: 30 * time.Second})
		for key, channel := range map[string]string{
			"lock:pview":     "redisson_lock__channel:{lock:pview}",
			"lock:order:{7}": "redisson_lock__channel:lock:order:{7}",
		} {
			ctx := testenv.Context(t)
			heard := admin.Subscribe(ctx, channel)
			defer heard.Close()
			if _, err := heard.Receive(ctx); err != nil {
				t.Fatal(err)
			}
			lease, err := lock.Acquire(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			fields := admin.HGetAll(ctx, key).Val()
			if len(fields) != 1 {
				t.Fatalf("%s holds %v, want a hash with one owner", key, fields)
			}
			for owner, count := range fields {
				if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+$`).MatchString(owner) || count != "1" {
					t.Errorf("owner %q with count %q, want <uuid>:<decimal> with 1", owner, count)
				}
			}
			if ttl := admin.PTTL(ctx, key).Val(); ttl <= 25*time.Second || ttl > 30*time.Second {
				t.Errorf("%s expires in %s, want the lease of 30s", key, ttl)
			}
			if err := lease.Release(ctx); err != nil {
				t.Fatal(err)
			}
			message, err := heard.ReceiveMessage(ctx)
			if err != nil || message.Payload != "0" {
				t.Fatalf("the release told %v (%v), want 0", message, err)
			}
		}
	})
}

// A holder of another kind, such as a Java service, excludes us; its message wakes us long before
// its lease ends.
func TestRedisWaitsForAForeignHolder(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		admin := client(t, testenv.Redis(t, real).Addr)
		lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: admin})
		ctx := testenv.Context(t)
		admin.HSet(ctx, "lock:pview", "java:1", 1)
		admin.PExpire(ctx, "lock:pview", time.Hour)
		granted := make(chan error, 1)
		go func() {
			lease, err := lock.Acquire(ctx, "lock:pview")
			if err == nil {
				err = lease.Release(ctx)
			}
			granted <- err
		}()
		channel := "redisson_lock__channel:{lock:pview}"
		testenv.Eventually(t, "the waiter listens", func() bool { return admin.PubSubNumSub(ctx, channel).Val()[channel] == 1 })
		select {
		case err := <-granted:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		admin.Del(ctx, "lock:pview")
		admin.Publish(ctx, channel, "0")
		if err := <-granted; err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, "nobody listens any more", func() bool { return admin.PubSubNumSub(ctx, channel).Val()[channel] == 0 })
	})
}

// A message may get lost; the timer may not.
func TestRedisWaitsForTheLeaseWithoutAMessage(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		admin := client(t, testenv.Redis(t, real).Addr)
		lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: admin})
		ctx := testenv.Context(t)
		admin.HSet(ctx, "lock:pview", "dead:1", 1)
		admin.PExpire(ctx, "lock:pview", 300*time.Millisecond)
		lease, err := lock.Acquire(ctx, "lock:pview")
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRedisFenceOnlyGrows(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		admin := client(t, testenv.Redis(t, real).Addr)
		lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: admin})
		ctx := testenv.Context(t)
		var last uint64
		for i := range 100 {
			if i%10 == 9 { // the counter expired, or a failover lost it
				admin.Del(ctx, "locklab_fence:{lock:pview}")
			}
			lease, err := lock.Acquire(ctx, "lock:pview")
			if err != nil {
				t.Fatal(err)
			}
			if lease.Fence() <= last {
				t.Fatalf("grant %d has fence %d after %d", i, lease.Fence(), last)
			}
			last = lease.Fence()
			if err := lease.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A server that accepts and does not answer must not make anybody hang, and what it may have
// granted must not stay.
func TestRedisThatDoesNotAnswer(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		node := testenv.Redis(t, real)
		admin := client(t, node.Addr)
		lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: admin, Lease: 3 * time.Second, Request: 200 * time.Millisecond})
		ctx := testenv.Context(t)
		if err := admin.Ping(ctx).Err(); err != nil { // so that a connection is there
			t.Fatal(err)
		}
		testenv.Pause(t, node)
		_, err := lock.Acquire(ctx, "lock:pview")
		if !errors.Is(err, lockstrategy.ErrUnavailable) || !errors.Is(err, lockstrategy.ErrNotAcquired) {
			t.Errorf("got %v, want ErrUnavailable and ErrNotAcquired", err)
		}
		node.Resume() // now it executes what it was sent: the acquire, and its undoing
		lease, err := lock.Acquire(ctx, "lock:pview")
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			t.Fatal(err)
		}
		node.Kill()
		if _, err := lock.Acquire(ctx, "lock:pview"); !errors.Is(err, lockstrategy.ErrUnavailable) || !strings.Contains(err.Error(), node.Addr) {
			t.Errorf("got %v, want ErrUnavailable with the address", err)
		}
	})
}

// The holder of a server that went away must stop before its lease can be another's.
func TestRedisThatGoesAwayWhileHeld(t *testing.T) {
	node := testenv.Redis(t, false)
	lock := open(t, lockstrategy.NameRedis, lockstrategy.Backends{Redis: client(t, node.Addr), Lease: 600 * time.Millisecond})
	lease, err := lock.Acquire(testenv.Context(t), "lock:pview")
	if err != nil {
		t.Fatal(err)
	}
	node.Kill()
	<-lease.Context().Done()
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrLost) {
		t.Fatalf("it ended with %v, want ErrLost", cause)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrLost) {
		t.Fatalf("its release returned %v, want ErrLost", err)
	}
}
