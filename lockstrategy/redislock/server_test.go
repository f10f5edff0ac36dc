package redislock_test

import (
	"context"
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
	testenv.Engines(t, func(t *testing.T, real bool) {
		admin := testlocks.Client(t, testenv.Redis(t, real).Addr)
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

// A server that accepts and does not answer must not make anybody hang, and what it may have
// granted must not stay.
func TestRedisThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	testenv.Engines(t, func(t *testing.T, real bool) {
		node := testenv.Redis(t, real)
		admin := testlocks.Client(t, node.Addr)
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: admin, Expiry: time.Minute, Request: time.Second})
		ctx := testenv.Context(t)
		if err := admin.Ping(ctx).Err(); err != nil { // so that a connection is there
			t.Fatal(err)
		}
		testenv.Pause(t, node)
		_, err := lock.Acquire(ctx, "lock:pview")
		if !errors.Is(err, lockstrategy.ErrUnavailable) || !errors.Is(err, lockstrategy.ErrNotAcquired) {
			t.Errorf("got %v, want ErrUnavailable and ErrNotAcquired", err)
		}
		node.Resume() // now it executes what it was sent: the acquire, and its compensating release
		resumed := time.Now()
		testlocks.Released(t, testlocks.Granted(t, lock, "lock:pview"))
		if took := time.Since(resumed); took > 30*time.Second {
			t.Errorf("the key was free after %s, and a lease has a minute", took)
		}
		node.Kill()
		if _, err := lock.Acquire(ctx, "lock:pview"); !errors.Is(err, lockstrategy.ErrUnavailable) || !strings.Contains(err.Error(), node.Addr) {
			t.Errorf("got %v, want ErrUnavailable with the address", err)
		}
	})
}

// Close refuses callers that wait, and leaves nothing behind.
func TestRedisIsClosedWhileACallerWaits(t *testing.T) {
	t.Parallel()
	node := testenv.Redis(t, false)
	admin := testlocks.Client(t, node.Addr)
	holder := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: testlocks.Client(t, node.Addr)})
	waiter := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: testlocks.Client(t, node.Addr)})
	ctx, cancel := context.WithCancel(testenv.Context(t))
	defer cancel()
	lease, err := holder.Acquire(ctx, "lock:k")
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := waiter.Acquire(ctx, "lock:k")
		waited <- err
	}()
	channel := "redisson_lock__channel:{lock:k}"
	testenv.Eventually(t, "it waits", func() bool { return admin.PubSubNumSub(ctx, channel).Val()[channel] > 0 })
	if err := waiter.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Fatalf("the caller that waited got %v", err)
	}
	if _, err := waiter.Acquire(ctx, "lock:free"); !errors.Is(err, lockstrategy.ErrUnavailable) {
		t.Fatalf("a caller that came later got %v", err)
	}
	if err := lease.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Callers leave and Close comes, in any order, while answers are on their way: nothing is left subscribed or held.
func TestRedisIsClosedAtAnyMoment(t *testing.T) {
	t.Parallel()
	node := testenv.Redis(t, testenv.RedisServer.Met())
	admin := testlocks.Client(t, node.Addr)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 60 {
		key := fmt.Sprintf("lock:%d", i)
		testlocks.Must(admin.HSet(t.Context(), key, "java:1", 1).Result())(t)
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: testlocks.Client(t, node.Addr)})
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
	testenv.Engines(t, func(t *testing.T, real bool) {
		ctx, admin := testenv.Context(t), testlocks.Client(t, testenv.Redis(t, real).Addr)
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: admin})
		const key, counter = "lock:pview", "locklab_grant:{lock:pview}"
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
		if !real { // miniredis hides the code of an error in a script
			return
		}
		admin.Del(ctx, counter)
		admin.RPush(ctx, counter, "list")
		if _, err := lock.Acquire(ctx, key); err == nil || !strings.Contains(err.Error(), counter) || admin.Exists(ctx, key).Val() != 0 {
			t.Errorf("with a list as its counter it says %v", err)
		}
	})
}

// A refusal says how much is left of the holder's lease, if its key has an expiry.
func TestRedisKnowsWhatIsLeftOfTheLease(t *testing.T) {
	t.Parallel()
	testenv.Engines(t, func(t *testing.T, real bool) {
		admin := testlocks.Client(t, testenv.Redis(t, real).Addr)
		lock := testlocks.Open(t, versions.NameRedis, versions.Backends{Redis: admin, Expiry: time.Minute})
		ctx := testenv.Context(t)
		for _, ttl := range []time.Duration{20 * time.Second, 0} { // of Java, which may have none
			if err := errors.Join(admin.HSet(ctx, "k", "another:1", 1).Err(), admin.Persist(ctx, "k").Err()); err != nil {
				t.Fatal(err)
			}
			if ttl > 0 {
				admin.PExpire(ctx, "k", ttl)
			}
			for _, option := range []lockstrategy.Option{lockstrategy.TryOnce(), lockstrategy.WaitAtMost(time.Second)} {
				_, err := lock.Acquire(ctx, "k", option)
				holder := lockstrategy.OtherHolder{}
				if !errors.As(err, &holder) || holder.Here || holder.Left > ttl+time.Millisecond || ttl-holder.Left > 15*time.Second ||
					strings.Contains(err.Error(), "for how long is not known") != (ttl == 0) {
					t.Errorf("%s are left, and it says %s: %v", ttl, holder.Left, err)
				}
			}
		}
	})
}
