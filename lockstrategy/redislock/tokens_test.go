package redislock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	wire "github.com/alicebob/miniredis/v2/server"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/lockstrategy/redislock/script"
)

// newRedis is the Redis lock of one more process.
func newRedis(t *testing.T, server *miniredis.Miniredis, cfg lockstrategy.Timing) *Lock {
	t.Helper()
	r, err := New(bubble.Client(t, server), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// Tokens grow although the server's clock stands still or goes back, and no two holders have the same.
func TestTokensGrowWithoutTheClock(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		server.SetTime(time.Now().Add(2 * time.Hour)) // the bubble's clock begins where the numbers do
		one := queued(t, newRedis(t, server, lockstrategy.Timing{}), localqueue.HandOff{Count: 3, Time: time.Hour})
		two := queued(t, newRedis(t, server, lockstrategy.Timing{}), localqueue.HandOff{})
		last := uint64(0)
		hold := func(lease *lockstrategy.Lease) {
			if lease.FencingToken() <= last {
				t.Errorf("token %d was followed by %d", last, lease.FencingToken())
			}
			last = lease.FencingToken()
			if ttl := server.TTL("locklab_grant:{k}"); ttl < 23*time.Hour {
				t.Errorf("the counter is kept for %s, want a day", ttl)
			}
			bubble.Release(t, lease)
		}
		for i := range 5 {
			if i == 3 {
				server.SetTime(time.Now().Add(time.Hour))
			}
			first := bubble.Acquire(t, one, "k")
			second, third := bubble.Wait(t, one), bubble.Wait(t, one)
			hold(first)
			hold(<-second)
			hold(<-third)
			hold(bubble.Acquire(t, two, "k"))
		}
	})
}

// A client or a proxy may repeat a request whose answer came late.
func TestARepeatedAcquireIsHarmless(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		client := bubble.Client(t, server)
		acquire, release := script.Commands("k", "owner", time.Minute)
		for range 3 {
			if reply, err := client.Do(t.Context(), acquire...).Int64Slice(); err != nil || reply[0] == 0 {
				t.Fatalf("the owner asked again, and got %v (%v)", reply, err)
			}
		}
		if count := server.HGet("k", "owner"); count != "1" {
			t.Errorf("the owner has entered %s times, as Redisson and Inspect see it", count)
		}
		if err := client.Do(t.Context(), release...).Err(); err != nil || server.Exists("k") {
			t.Fatalf("one release does not free what was asked for three times: %v", err)
		}
	})
}

// A client that sends the commands by hand gets a token of the same kind as the lock's.
func TestTheTokenOfACommandGrows(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		client, r := bubble.Client(t, server), newRedis(t, server, lockstrategy.Timing{})
		first := bubble.Acquire(t, r, "k")
		bubble.Release(t, first)
		acquire, release := script.Commands("k", "owner", time.Minute)
		reply, err := client.Do(t.Context(), acquire...).Result()
		if err != nil {
			t.Fatal(err)
		}
		again, _ := client.Do(t.Context(), "EVAL", script.Acquire, 2, "k", script.GrantKey("k"), 1000, "another").Result()
		if script.Token(again) != 0 {
			t.Errorf("a refusal has the token %d", script.Token(again))
		}
		if err := client.Do(t.Context(), release...).Err(); err != nil {
			t.Fatal(err)
		}
		last := bubble.Acquire(t, r, "k")
		if token := script.Token(reply); token <= first.FencingToken() || token >= last.FencingToken() {
			t.Errorf("between %d and %d there was %d", first.FencingToken(), last.FencingToken(), token)
		}
		bubble.Release(t, last)
	})
}

// A caller that leaves in the middle of a request gets what the server grants: it would stay locked otherwise.
func TestRedisHearsTheAnswerOfACallerThatLeft(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		r := newRedis(t, server, lockstrategy.Timing{})
		bubble.Release(t, bubble.Acquire(t, r, "k")) // the script is loaded
		server.Server().SetPreHook(func(_ *wire.Peer, command string, _ ...string) bool {
			if command == "EVALSHA" {
				time.Sleep(time.Second)
			}
			return false
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		lease, err := r.Acquire(ctx, "k")
		if err != nil {
			t.Fatalf("it was granted, and the caller got %v", err)
		}
		bubble.Release(t, lease)
	})
}

// A holder that asks whether it still holds a lease that is not renewed does not change its end.
func TestALeaseThatIsNotRenewedKeepsItsEnd(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		r, client := newRedis(t, server, lockstrategy.Timing{}), bubble.Client(t, server)
		lease := bubble.Acquire(t, r, "k", lockstrategy.LeaseFor(time.Minute))
		for range 5 {
			time.Sleep(10 * time.Second)
			if err := client.Publish(t.Context(), script.Channel("k"), "0").Err(); err != nil { // it listens, and asks
				t.Fatal(err)
			}
			synctest.Wait()
			if left := server.TTL("k"); left <= 0 || lease.Context().Err() != nil {
				t.Fatalf("the key has %s left, the lease says %v", left, lease.Context().Err())
			}
		}
		time.Sleep(time.Until(lease.Until()) - time.Nanosecond)
		if left := server.TTL("k"); left <= 0 || left > time.Second || lease.Context().Err() != nil {
			t.Errorf("before its end the lease says %v, and the key has %s left", lease.Context().Err(), left)
		}
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrExpired) {
			t.Errorf("the lease has ended: %v", cause)
		}
		if err := lease.Release(context.Background()); err == nil {
			t.Error("the release of a lost lease says nothing")
		}
	})
}

// A holder listens for a forced unlock after a twelfth of a short lease, and not before: most locks are released sooner.
func TestASessionBeginsToListen(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		const lease, channel = 6 * time.Second, "redisson_lock__channel:{k}"
		held := bubble.Acquire(t, newRedis(t, server, lockstrategy.Timing{Expiry: lease}), "k")
		for _, c := range []struct {
			after time.Duration
			want  int
		}{{lease/12 - time.Millisecond, 0}, {2 * time.Millisecond, 1}} {
			time.Sleep(c.after)
			synctest.Wait()
			if n := server.PubSubNumSub(channel)[channel]; n != c.want {
				t.Errorf("%d are subscribed, want %d", n, c.want)
			}
		}
		bubble.Release(t, held)
	})
}

// queued is a lock behind the queue of one process.
func queued(t *testing.T, s lockstrategy.Strategy, bounds localqueue.HandOff) *localqueue.Queue {
	t.Helper()
	c, err := localqueue.New(s, bounds)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
