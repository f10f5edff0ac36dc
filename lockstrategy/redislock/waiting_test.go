package redislock

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	wire "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"locklab/internal/faultproxy"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/lockstrategy/redislock/pubsub"
	"locklab/lockstrategy/redislock/script"
)

// Without a subscription a waiter polls: here its connection for messages leads nowhere.
func TestAWaiterThatIsNotSubscribedPolls(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		proxy := faultproxy.New(func(context.Context) (net.Conn, error) { return server.Dial() })
		defer proxy.Close()
		proxy.Label = func(label string, request []byte) string {
			if bytes.Contains(request, []byte("subscribe")) {
				return "subscription"
			}
			return label
		}
		proxy.DropMatching(faultproxy.Both, func(label string) bool { return label == "subscription" })
		r, err := New(bubble.Connect(t, proxy.DialContext), lockstrategy.Timing{})
		if err != nil {
			t.Fatal(err)
		}
		holder := bubble.Acquire(t, newRedis(t, server, lockstrategy.Timing{}), "k")
		granted := make(chan *lockstrategy.Lease)
		go func() { granted <- bubble.Acquire(t, r, "k") }()
		time.Sleep(3 * longestWait / 2) // between two tries of a waiter that relies on its subscription
		bubble.Release(t, holder)
		began := time.Now()
		lease := <-granted
		if waited := time.Since(began); waited > pollInterval {
			t.Errorf("it was granted the lock %s after the release, want %s at most", waited, pollInterval)
		}
		bubble.Release(t, lease)
		_ = r.Close()
	})
}

// A caller that waits goes on when the other's lease ends, although nobody notifies it. It does not listen any more then.
func TestAWaiterNeedsNoNotification(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		client := bubble.Client(t, server)
		client.HSet(t.Context(), "k", "java:1", 1)
		const left = time.Minute + longestWait/2
		client.PExpire(t.Context(), "k", left)
		began := time.Now()
		lease := bubble.Acquire(t, newRedis(t, server, lockstrategy.Timing{}), "k")
		if waited := time.Since(began); waited < left || waited > left+10*time.Millisecond {
			t.Errorf("it waited %s for a lease of %s", waited, left)
		}
		bubble.Release(t, lease)
		time.Sleep(2 * pubsub.IdleTimeout)
		synctest.Wait()
		if n := server.PubSubNumSub(script.Channel("k"))[script.Channel("k")]; n != 0 {
			t.Errorf("%d still listen", n)
		}
	})
}

// A key of another program may have no expiry, and be deleted without a message. A waiter looks at it every second.
func TestAWaiterLooksAtAKeyWithoutExpiry(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		client := bubble.Client(t, server)
		client.HSet(t.Context(), "k", "java:1", 1)
		time.AfterFunc(90*time.Second, func() { server.Del("k") })
		began := time.Now()
		lease := bubble.Acquire(t, newRedis(t, server, lockstrategy.Timing{Expiry: time.Minute}), "k")
		if waited := time.Since(began); waited > 91*time.Second {
			t.Errorf("it waited %s for a key that was deleted after 90 s", waited)
		}
		if sent := server.CommandCount(); sent > 1000 { // a try is a script and three commands in it
			t.Errorf("in 91 s the server executed %d commands", sent)
		}
		bubble.Release(t, lease)
	})
}

// A waiter that is notified does not poll: it asks when a message comes, and after a second at the latest.
func TestAWaiterThatIsNotifiedDoesNotPoll(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		client, granted := bubble.Client(t, server), make(chan *lockstrategy.Lease)
		client.HSet(t.Context(), "k", "java:1", 1)
		r := newRedis(t, server, lockstrategy.Timing{})
		go func() { granted <- bubble.Acquire(t, r, "k") }()
		time.Sleep(longestWait / 2)
		before := server.CommandCount()
		for range 10 {
			client.Publish(t.Context(), script.Channel("k"), "0")
			time.Sleep(longestWait * 9 / 10)
		}
		const try = 4 // the script, and three commands in it
		if sent := server.CommandCount() - before; sent > 10+10*try+10 {
			t.Errorf("%d commands for ten messages, want one try for each", sent)
		}
		client.Del(t.Context(), "k")
		client.Publish(t.Context(), script.Channel("k"), "0")
		bubble.Release(t, <-granted)
	})
}

// A caller that does not wait is told nothing, so it does not subscribe: others would let it go first.
func TestOneAttemptDoesNotSubscribe(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		bubble.Client(t, server).HSet(t.Context(), "k", "java:1", 1)
		r := newRedis(t, server, lockstrategy.Timing{})
		before := server.CommandCount()
		if _, err := r.Acquire(t.Context(), "k", lockstrategy.TryOnce()); !errors.Is(err, lockstrategy.ErrTaken) {
			t.Fatal(err)
		}
		asked := server.CommandCount()
		time.Sleep(time.Minute)
		if later := server.CommandCount(); later != asked {
			t.Errorf("the attempt took %d commands, and %d came later", asked-before, later-asked)
		}
	})
}

// A server refuses a try for now. The caller tries again after a short pause, although it is subscribed.
func TestAWaiterTriesAgainSoonAfterARefusal(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		another, granted := bubble.Client(t, server), make(chan *lockstrategy.Lease)
		another.HSet(t.Context(), "k", "java:1", 1)
		r := newRedis(t, server, lockstrategy.Timing{})
		go func() { granted <- bubble.Acquire(t, r, "k") }()
		time.Sleep(longestWait / 2) // it is subscribed
		var refuses atomic.Bool
		refuses.Store(true)
		server.Server().SetPreHook(func(c *wire.Peer, cmd string, _ ...string) bool {
			refused := cmd == "EVALSHA" && refuses.Load()
			if refused {
				c.WriteError("READONLY You can't write against a read only replica.")
			}
			return refused
		})
		time.Sleep(longestWait + pollInterval/2) // between two tries
		refuses.Store(false)
		freed(t, another, granted)
	})
}

// The server has forgotten the key, and granted it again: the first holder renews and releases nobody else's lock.
func TestRedisLeavesAnothersKeyAlone(t *testing.T) {
	for learns, after := range map[string]time.Duration{"when it releases": 0, "when it renews": lockstrategy.DefaultLease / 2} {
		bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
			lease := bubble.Acquire(t, newRedis(t, server, lockstrategy.Timing{}), "k")
			server.Del("k")
			another := bubble.Acquire(t, newRedis(t, server, lockstrategy.Timing{}), "k")
			time.Sleep(after)
			if lost := lockstrategy.LossOf(lease.Context()); after > 0 && !errors.Is(lost, lockstrategy.ErrGone) {
				t.Errorf("%s: the context says %v, want ErrGone", learns, lost)
			}
			if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) || !server.Exists("k") {
				t.Errorf("%s: the release says %v; the other's key is there: %t", learns, err, server.Exists("k"))
			}
			bubble.Release(t, another)
		})
	}
}

// An administrator sees that a key has no expiry. A forced unlock reports that the key is free although nobody may be
// notified. Without a server both are errors.
func TestAnAdminIsTold(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		r := newRedis(t, server, lockstrategy.Timing{})
		bubble.Client(t, server).HSet(t.Context(), "k", "java:1", 1)
		if s, err := r.Inspect(t.Context(), "k"); err != nil || !s.Held || s.Remaining != -1 {
			t.Errorf("%+v, %v: want it held without an expiry", s, err)
		}
		server.Server().SetPreHook(func(c *wire.Peer, cmd string, _ ...string) bool {
			if cmd == "PUBLISH" {
				c.WriteError("NOPERM this user has no permissions to run the 'publish' command")
			}
			return cmd == "PUBLISH"
		})
		if freed, err := r.ForceUnlock(t.Context(), "k"); !freed || !errors.Is(err, lockstrategy.ErrUnavailable) || server.Exists("k") {
			t.Errorf("freed: %t, %v; the key is there: %t", freed, err, server.Exists("k"))
		}
		server.Close()
		if s, err := r.Inspect(t.Context(), "k"); !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Errorf("without a server it says %+v (%v)", s, err)
		}
	})
}

// A key that was deleted by hand is nobody's: a holder that learns it notifies the callers that wait.
func TestADeletedKeyIsNotified(t *testing.T) {
	for _, learns := range []string{"when it releases", "when it renews"} {
		t.Run(learns, func(t *testing.T) {
			bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
				timing := lockstrategy.Timing{Expiry: time.Minute}
				holder, waiter := newRedis(t, server, timing), newRedis(t, server, timing)
				lease := bubble.Acquire(t, holder, "k")
				granted := make(chan *lockstrategy.Lease)
				go func() { granted <- bubble.Acquire(t, waiter, "k") }()
				time.Sleep(longestWait * 3 / 2) // the waiter's own try is not due
				server.Del("k")
				began, most := time.Now(), time.Minute/3
				if learns == "when it releases" {
					most = 0
					if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) {
						t.Errorf("the release says %v", err)
					}
				}
				bubble.Release(t, <-granted)
				if waited := time.Since(began); waited > most {
					t.Errorf("the waiter was granted the lock after %s, want %s", waited, most)
				}
				_ = lease.Release(t.Context())
			})
		})
	}
}

// freed deletes the key for which a caller waits that polls, and waits until it is granted.
func freed(t *testing.T, client *redis.Client, granted <-chan *lockstrategy.Lease) {
	t.Helper()
	client.Del(t.Context(), "k")
	began := time.Now()
	lease := <-granted
	if waited := time.Since(began); waited > pollInterval {
		t.Errorf("it was granted the lock %s after the release, want %s at most", waited, pollInterval)
	}
	bubble.Release(t, lease)
}

// A refusal says how much is left of the holder's lease, if its key has an expiry; 0: it has none, as a key of Java's may.
func TestARefusalSaysWhatIsLeft(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		r := newRedis(t, server, lockstrategy.Timing{})
		server.HSet("k", "java:1", "1")
		for _, ttl := range []time.Duration{0, 20 * time.Second} {
			for waits, option := range map[time.Duration]lockstrategy.Option{
				0: lockstrategy.TryOnce(), time.Second: lockstrategy.WaitAtMost(time.Second),
			} {
				if ttl > 0 {
					server.SetTTL("k", ttl)
				}
				_, err := r.Acquire(t.Context(), "k", option)
				holder, left := lockstrategy.OtherHolder{}, max(0, ttl-waits)
				if !errors.As(err, &holder) || holder.Here || holder.Left < left || holder.Left > left+time.Millisecond {
					t.Errorf("%s are left, and it says %s: %v", left, holder.Left, err)
				}
			}
		}
	})
}
