package redislock_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/versions"
)

// The protocol that Java sees: docs/lock.md, section "On the wire".
func TestRedisSpeaksRedisson(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, addr string) {
		admin := testlocks.Client(t, addr)
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: admin, Expiry: 30 * time.Second})
		for key, channel := range map[string]string{
			"lock:pview":     "redisson_lock__channel:{lock:pview}",
			"lock:order:{7}": "redisson_lock__channel:lock:order:{7}",
		} {
			ctx := testenv.Context(t)
			messages := admin.Subscribe(ctx, channel)
			defer messages.Close()
			if _, err := messages.Receive(ctx); err != nil {
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
			message, err := messages.ReceiveMessage(ctx)
			if err != nil || message.Payload != "0" {
				t.Fatalf("the release told %v (%v), want 0", message, err)
			}
		}
	})
}

// Callers leave and Close comes, in any order, while answers are on their way: nothing is left subscribed or held.
func TestRedisIsClosedAtAnyMoment(t *testing.T) {
	t.Parallel()
	addr := sharedRedis.Of(t).Addr
	admin := testlocks.Client(t, addr)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 30 {
		key := fmt.Sprintf("lock:%d", i)
		testlocks.Must(admin.HSet(t.Context(), key, "java:1", 1).Result())(t)
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: testlocks.Client(t, addr)})
		var callers sync.WaitGroup
		for range 3 {
			most := time.Duration(rng.IntN(3000)) * time.Microsecond
			callers.Go(func() {
				if _, err := lock.Acquire(t.Context(), key, lockstrategy.WaitAtMost(most)); err == nil {
					t.Error("it was granted what Java holds")
				}
			})
		}
		spin(time.Duration(rng.IntN(3000)) * time.Microsecond)
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
		callers.Wait()
		channel := "redisson_lock__channel:{" + key + "}"
		testenv.Eventually(t, "nobody is subscribed", func() bool { return admin.PubSubNumSub(t.Context(), channel).Val()[channel] == 0 })
	}
}

// A counter that is no number, or too large, grants no lock and keeps none. The error says which key to delete.
func TestATokenCounterThatCannotGrowIsNamed(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, addr string) {
		ctx, admin := testenv.Context(t), testlocks.Client(t, addr)
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: admin})
		const key, counter = "lock:counted", "locklab_grant:{lock:counted}"
		for _, wrong := range []string{"abc", "inf", "9223372036854775808", "1152921504606846976", "9007199254740991"} {
			admin.Set(ctx, counter, wrong, 0)
			for range 2 { // it stays wrong until somebody mends it
				lease, err := lock.Acquire(ctx, key)
				if err == nil {
					t.Fatalf("with the counter %s it is granted with token %d", wrong, lease.FencingToken())
				}
				if !errors.Is(err, lockstrategy.ErrUnavailable) || !strings.Contains(err.Error(), counter) || !strings.Contains(err.Error(), "delete") {
					t.Errorf("with the counter %s it says %v", wrong, err)
				}
			}
			if admin.Exists(ctx, key).Val() != 0 || admin.Get(ctx, counter).Val() != wrong {
				t.Errorf("the counter %s keeps the lock, or became %s", wrong, admin.Get(ctx, counter))
			}
			admin.Del(ctx, counter)
			lease, err := lock.Acquire(ctx, key)
			if err != nil {
				t.Fatalf("the counter was deleted: %v", err)
			}
			if err := lease.Release(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// spin is busy for so long: a timer would be later than that.
func spin(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}
