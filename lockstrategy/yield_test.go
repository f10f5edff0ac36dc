package lockstrategy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"locklab/lockstrategy/pubsub"
	"locklab/stack/faultproxy"
)

// The yield rule, in a synctest bubble with a Redis in memory: nothing depends on the speed of the machine.

// inMemory connects to a server in the bubble.
func inMemory(t *testing.T, server *miniredis.Miniredis) *redis.Client {
	return connect(t, func(context.Context, string, string) (net.Conn, error) { return server.Dial() })
}

func connect(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Client {
	client := redis.NewClient(&redis.Options{
		Dialer: dial, MaxRetries: -1, ContextTimeoutEnabled: true, Protocol: 2, DisableIdentity: true, ConnMaxIdleTime: -1, PoolSize: 100,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// turns lets processes with callers each want one key all the time, and hold it for a millisecond. It returns which process had the
// key, turn for turn.
func turns(t *testing.T, processes, callers, grants int, bounds HandOff, open func(Strategy, HandOff) Strategy) (order []int) {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	defer server.Close()
	var mu sync.Mutex
	var all sync.WaitGroup
	var ends []func()
	for p := range processes {
		r, err := NewRedis(inMemory(t, server), RedisConfig{})
		if err != nil {
			t.Fatal(err)
		}
		s := open(r, bounds)
		ends = append(ends, func() { _ = r.Close() })
		for range callers {
			all.Go(func() {
				for done := false; !done; {
					lease, err := s.Acquire(context.Background(), "lock:k")
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					if done = len(order) >= grants; !done {
						order = append(order, p)
					}
					mu.Unlock()
					time.Sleep(time.Millisecond)
					_ = lease.Release(context.Background())
				}
			})
		}
	}
	all.Wait()
	for _, end := range ends {
		end()
	}
	return order
}

// After its turn a process lets those that wait go first. Two processes take turns, and of more none comes again before all others
// have come.
func TestAProcessYieldsAfterItsTurn(t *testing.T) {
	for _, c := range []struct{ processes, callers, count int }{{2, 8, 4}, {2, 1, 1}, {3, 4, 2}, {5, 2, 1}, {8, 1, 1}} {
		t.Run(fmt.Sprintf("%d processes, %d callers", c.processes, c.callers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				order := turns(t, c.processes, c.callers, c.processes*c.count*30, HandOff{Count: c.count, Time: time.Hour},
					func(s Strategy, bounds HandOff) Strategy { return newCohort(t, s, bounds) })
				compact := slices.Compact(order)
				t.Log(compact)
				last := make(map[int]int)
				for i, p := range compact[c.processes*3:] {
					if before, again := last[p]; again && i-before != c.processes {
						t.Errorf("process %d has its turn %d again after %d turns, want %d", p, i, i-before, c.processes)
					}
					last[p] = i
				}
			})
		})
	}
}

// idle lets n processes listen to releases of a key that they do not want.
func idle(t *testing.T, server *miniredis.Miniredis, n int) {
	for range n {
		hub := pubsub.New(inMemory(t, server), false)
		t.Cleanup(hub.Close)
		t.Cleanup(hub.Listen(channelOf("k"), func(pubsub.Event) {}))
	}
	synctest.Wait()
}

// Processes that listen and do not want the lock cost the others milliseconds, not their turns.
func TestAListenerThatDoesNotCompeteCostsMilliseconds(t *testing.T) {
	for listeners, each := range map[int]time.Duration{1: probeAfter, 2: 2 * probeAfter, 20: longestProbe} {
		t.Run(fmt.Sprint(listeners), func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
				idle(t, server, listeners)
				c := newCohort(t, newRedis(t, server, RedisConfig{}), HandOff{})
				const turns = 10
				began := time.Now()
				for range turns {
					mustRelease(t, mustAcquire(t, c, "k"))
				}
				if took := time.Since(began); took != (turns-1)*each {
					t.Errorf("%d turns took %s, want %s between each two", turns, took, each)
				}
			})
		})
	}
}

// A process that yields and finds the key held asks again when its lease ends: the holder's release would be notified.
func TestAProcessThatYieldsDoesNotPollAForeignLease(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		idle(t, server, 1)
		c, another := newCohort(t, newRedis(t, server, RedisConfig{}), HandOff{}), inMemory(t, server)
		mustRelease(t, mustAcquire(t, c, "k"))
		another.HSet(t.Context(), "k", "java:1", 1)
		another.PExpire(t.Context(), "k", time.Second)
		before, began := server.CommandCount(), time.Now()
		mustRelease(t, mustAcquire(t, c, "k"))
		if waited := time.Since(began); waited > time.Second+longestProbe {
			t.Errorf("it waited %s for a key that was held for a second", waited)
		}
		// It subscribes, probes once (a script and three commands in it), acquires and releases.
		if sent, most := server.CommandCount()-before, 20; sent > most {
			t.Errorf("in a second the server executed %d commands, want %d at most", sent, most)
		}
	})
}

// A process lets two others go first. One has its turn, the other does not want the key: then the process waits for milliseconds.
func TestAProcessProbesAgainAfterARelease(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		idle(t, server, 1)
		one, two := newCohort(t, newRedis(t, server, RedisConfig{}), HandOff{}), newCohort(t, newRedis(t, server, RedisConfig{}), HandOff{})
		first, other, again := mustAcquire(t, one, "k"), make(chan *Lease), make(chan *Lease)
		go func() { other <- mustAcquire(t, two, "k") }()
		synctest.Wait()
		mustRelease(t, first)
		held := <-other
		go func() { again <- mustAcquire(t, one, "k") }()
		time.Sleep(500 * time.Millisecond)
		released := time.Now()
		mustRelease(t, held)
		lease := <-again
		if waited := time.Since(released); waited < 2*probeAfter || waited > longestProbe {
			t.Errorf("it was granted the lock %s after the release, want %s to %s", waited, 2*probeAfter, longestProbe)
		}
		mustRelease(t, lease)
	})
}

// A lease says at its release how many other processes wait. Its own process may listen, too: that is not another.
func TestALeaseTellsHowManyOthersWait(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		one := newRedis(t, server, RedisConfig{})
		for _, waiting := range [][]*Redis{nil, {one}, {newRedis(t, server, RedisConfig{}), one, newRedis(t, server, RedisConfig{})}} {
			lease := mustAcquire(t, one, "k")
			var all sync.WaitGroup
			others := 0
			for _, process := range waiting {
				all.Go(func() { mustRelease(t, mustAcquire(t, process, "k")) })
				if process != one {
					others++
				}
			}
			time.Sleep(2 * startDelay) // the holder listens
			mustRelease(t, lease)
			if lease.Others() != others {
				t.Errorf("it says that %d others wait, want %d", lease.Others(), others)
			}
			all.Wait()
			time.Sleep(time.Second)
		}
	})
}

// Where nobody can tell how many others wait, they poll. A process that has used the key for a while lets a little more than their
// interval pass.
func TestAProcessYieldsByTimeToOthersThatPoll(t *testing.T) {
	const bounded = 20
	for name, bounds := range map[string]HandOff{
		"by time": {Time: bounded * time.Millisecond}, "by count": {Count: bounded, Time: time.Hour},
	} {
		t.Run(name, func(t *testing.T) { yieldsByTime(t, bounds, bounded) })
	}
}

func yieldsByTime(t *testing.T, bounds HandOff, bounded int) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Minute)
		c := newCohort(t, polling{f}, bounds)
		f.others = Unknown
		for range 3 { // short turns one after the other: a yield after each would cost far more than the lock
			began := time.Now()
			for range bounded {
				lease := mustAcquire(t, c, "k")
				time.Sleep(time.Millisecond)
				mustRelease(t, lease)
			}
			if used := time.Since(began); used != time.Duration(bounded)*time.Millisecond {
				t.Errorf("it let others go first within %d turns of a millisecond: they took %s", bounded, used)
			}
			began = time.Now()
			mustRelease(t, mustAcquire(t, c, "k"))
			if waited := time.Since(began); waited <= pollInterval || waited > 2*pollInterval {
				t.Errorf("it competed again after %s; the others poll every %s", waited, pollInterval)
			}
			time.Sleep(2 * yieldWindow)
			synctest.Wait()
			if len(c.queues) != 0 {
				t.Errorf("an idle cohort keeps %d queues", len(c.queues))
			}
		}
	})
}

// So it is, too, where this process is subscribed, but may not publish.
func TestAProcessThatMayNotPublishYieldsByTime(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		r, began := newRedis(t, server, RedisConfig{}), time.Now()
		w := waiter{hubs: []*pubsub.Hub{r.hub}, channel: channelOf("k"), life: t.Context(), interval: pollInterval}
		_, err := w.acquire(t.Context(), "k", []Option{func(r *Request) { r.Others = Unknown }}, func(Request) (*Lease, time.Duration, error) {
			return &Lease{}, 0, nil
		})
		if waited := time.Since(began); err != nil || waited <= pollInterval || waited > 2*pollInterval {
			t.Errorf("it competed again after %s (%v); the others poll every %s", waited, err, pollInterval)
		}
	})
}

// polling is a fake that is not notified.
type polling struct{ *fake }

func (p polling) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	return p.Sessions.Poll(ctx, key, options, pollInterval, func(Request) (*Lease, error) { return p.fake.Acquire(ctx, key, options...) })
}

// Without a subscription a waiter polls: here its connection for messages leads nowhere.
func TestAWaiterThatIsNotSubscribedPolls(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		proxy := faultproxy.New(func(context.Context) (net.Conn, error) { return server.Dial() })
		defer proxy.Close()
		proxy.Label = func(label string, request []byte) string {
			if bytes.Contains(request, []byte("subscribe")) {
				return "subscription"
			}
			return label
		}
		proxy.DropMatching(faultproxy.Both, func(label string) bool { return label == "subscription" })
		r, err := NewRedis(connect(t, proxy.DialContext), RedisConfig{})
		if err != nil {
			t.Fatal(err)
		}
		holder := mustAcquire(t, newRedis(t, server, RedisConfig{}), "k")
		granted := make(chan *Lease)
		go func() { granted <- mustAcquire(t, r, "k") }()
		time.Sleep(time.Second)
		mustRelease(t, holder)
		began := time.Now()
		lease := <-granted
		if waited := time.Since(began); waited > pollInterval {
			t.Errorf("it was granted the lock %s after the release, want %s at most", waited, pollInterval)
		}
		mustRelease(t, lease)
		idle(t, server, 1)
		c := newCohort(t, r, HandOff{})
		mustRelease(t, mustAcquire(t, c, "k"))
		began = time.Now()
		mustRelease(t, mustAcquire(t, c, "k"))
		if waited := time.Since(began); waited != probeAfter {
			t.Errorf("it probed after %s, want %s", waited, probeAfter)
		}
		_ = r.Close()
	})
}

// A process that lets another go first, and finds that the other holds the key, is notified of the release: it asks no more.
func TestAProcessThatYieldsDoesNotPoll(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		one, two := newCohort(t, newRedis(t, server, RedisConfig{}), HandOff{}), newCohort(t, newRedis(t, server, RedisConfig{}), HandOff{})
		first := mustAcquire(t, one, "k")
		other, again := make(chan *Lease), make(chan *Lease)
		go func() { other <- mustAcquire(t, two, "k") }()
		synctest.Wait()
		mustRelease(t, first)
		held := <-other
		go func() { again <- mustAcquire(t, one, "k") }()
		time.Sleep(500 * time.Millisecond)
		before := server.CommandCount()
		time.Sleep(time.Second)
		if sent := server.CommandCount() - before; sent > 0 {
			t.Errorf("%d commands in a second in which nothing was released", sent)
		}
		released := time.Now()
		mustRelease(t, held)
		mustRelease(t, <-again)
		if waited := time.Since(released); waited > 0 {
			t.Errorf("it was granted the lock %s after the release", waited)
		}
	})
}

// A caller that waits goes on when the other's lease ends, although nobody notifies it.
func TestAWaiterNeedsNoNotification(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		client := inMemory(t, server)
		client.HSet(t.Context(), "k", "java:1", 1)
		client.PExpire(t.Context(), "k", time.Minute)
		began := time.Now()
		lease := mustAcquire(t, newRedis(t, server, RedisConfig{}), "k")
		if waited := time.Since(began); waited < time.Minute || waited > time.Minute+10*time.Millisecond {
			t.Errorf("it waited %s for a lease of a minute", waited)
		}
		mustRelease(t, lease)
	})
}

// A key of another program may have no expiry, and be deleted without a message. A waiter looks at it once in a while.
func TestAWaiterLooksAtAKeyWithoutExpiry(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		client := inMemory(t, server)
		client.HSet(t.Context(), "k", "java:1", 1)
		time.AfterFunc(90*time.Second, func() { server.Del("k") })
		began := time.Now()
		lease := mustAcquire(t, newRedis(t, server, RedisConfig{Lease: time.Minute}), "k")
		if waited := time.Since(began); waited > 150*time.Second {
			t.Errorf("it waited %s for a key that was deleted after 90 s", waited)
		}
		mustRelease(t, lease)
	})
}

// The server has forgotten the key, and granted it again: the first holder renews and releases nobody else's lock.
func TestRedisLeavesAnothersKeyAlone(t *testing.T) {
	for learns, after := range map[string]time.Duration{"when it releases": 0, "when it renews": DefaultLease / 2} {
		inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
			lease := mustAcquire(t, newRedis(t, server, RedisConfig{}), "k")
			server.Del("k")
			another := mustAcquire(t, newRedis(t, server, RedisConfig{}), "k")
			time.Sleep(after)
			if lost := loss(lease.Context()); after > 0 && !errors.Is(lost, ErrGone) {
				t.Errorf("%s: the context says %v, want ErrGone", learns, lost)
			}
			if err := lease.Release(t.Context()); !errors.Is(err, ErrGone) || !server.Exists("k") {
				t.Errorf("%s: the release says %v; the other's key is there: %t", learns, err, server.Exists("k"))
			}
			mustRelease(t, another)
		})
	}
}

// The server has granted the key, and the reply is lost: the key is released long before its lease ends.
func TestAnAcquireWithoutAReplyIsCompensated(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		proxy := faultproxy.New(func(context.Context) (net.Conn, error) { return server.Dial() })
		defer proxy.Close()
		r, err := NewRedis(connect(t, proxy.DialContext), RedisConfig{})
		if err != nil {
			t.Fatal(err)
		}
		mustRelease(t, mustAcquire(t, r, "k")) // the server has the scripts
		proxy.LoseReply(faultproxy.NoGreeting, func(faultproxy.Chunk) { proxy.Cut() })
		if _, err := r.Acquire(t.Context(), "k"); !errors.Is(err, ErrUnavailable) || !server.Exists("k") {
			t.Errorf("got %v; the server has granted it: %t", err, server.Exists("k"))
		}
		proxy.Mend()
		time.Sleep(time.Second)
		if server.Exists("k") {
			t.Error("a second later the key is still there")
		}
		_ = r.Close()
	})
}

// A holder that listens is told of a forced unlock, and knows it from an eviction.
func TestAForcedUnlockIsTold(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		lease := mustAcquire(t, newRedis(t, server, RedisConfig{}), "k", LeaseFor(time.Hour))
		time.Sleep(2 * startDelay)
		if freed, err := newRedis(t, server, RedisConfig{}).ForceUnlock(t.Context(), "k"); !freed || err != nil {
			t.Errorf("it was not freed: %v", err)
		}
		synctest.Wait()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, ErrForced) {
			t.Errorf("the context says %v, want ErrForced", cause)
		}
		_ = lease.Release(t.Context())
	})
}

// A key that was deleted by hand is nobody's: a holder that learns it notifies the callers that wait.
func TestADeletedKeyIsNotified(t *testing.T) {
	for _, learns := range []string{"when it releases", "when it renews"} {
		t.Run(learns, func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
				holder, waiter := newRedis(t, server, RedisConfig{Lease: time.Minute}), newRedis(t, server, RedisConfig{Lease: time.Minute})
				lease := mustAcquire(t, holder, "k")
				granted := make(chan *Lease)
				go func() { granted <- mustAcquire(t, waiter, "k") }()
				time.Sleep(time.Second)
				server.Del("k")
				began, most := time.Now(), time.Minute/3
				if learns == "when it releases" {
					most = 0
					if err := lease.Release(t.Context()); !errors.Is(err, ErrGone) {
						t.Errorf("the release says %v", err)
					}
				}
				mustRelease(t, <-granted)
				if waited := time.Since(began); waited > most {
					t.Errorf("the waiter was granted the lock after %s, want %s", waited, most)
				}
				_ = lease.Release(t.Context())
			})
		})
	}
}

// Nothing is handed off beyond the bounds.
func TestCohortEndsItsTurn(t *testing.T) {
	for _, c := range []struct {
		name   string
		bounds HandOff
		hold   time.Duration
		turns  int32 // of ten leases
	}{
		{"by count", HandOff{Count: 5, Time: time.Hour}, time.Millisecond, 2},
		{"by time", HandOff{Count: 100, Time: 5 * time.Millisecond}, time.Millisecond, 2},
		{"by neither", HandOff{Count: 100, Time: time.Hour}, time.Millisecond, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, time.Minute)
				cohort := newCohort(t, f, c.bounds)
				leases := []<-chan *Lease{}
				first := mustAcquire(t, cohort, "k")
				for range 9 {
					leases = append(leases, wait(t, cohort))
				}
				time.Sleep(c.hold)
				mustRelease(t, first)
				for _, granted := range leases {
					lease := <-granted
					time.Sleep(c.hold)
					mustRelease(t, lease)
				}
				if f.grants.Load() != c.turns {
					t.Errorf("ten leases took %d turns, want %d", f.grants.Load(), c.turns)
				}
			})
		})
	}
}

// A waiter whose subscription ends, and cannot be opened again, polls: it does not wait for the other's lease.
func TestAWaiterThatLosesItsSubscriptionPolls(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		proxy := faultproxy.New(func(context.Context) (net.Conn, error) { return server.Dial() })
		defer proxy.Close()
		commands := inMemory(t, server)
		client := connect(t, proxy.DialContext)
		r := newRedis(t, server, RedisConfig{})
		r.hub.Close()
		r.hub = pubsub.New(client, false)
		t.Cleanup(r.hub.Close)
		commands.HSet(t.Context(), "k", "java:1", 1)
		commands.PExpire(t.Context(), "k", time.Hour)
		granted := make(chan *Lease)
		go func() { granted <- mustAcquire(t, r, "k") }()
		time.Sleep(time.Second)
		proxy.Cut()
		time.Sleep(10 * time.Second)
		commands.Del(t.Context(), "k")
		began := time.Now()
		lease := <-granted
		if waited := time.Since(began); waited > pollInterval {
			t.Errorf("it was granted the lock %s after the release, want %s at most", waited, pollInterval)
		}
		mustRelease(t, lease)
	})
}

// A process that may not publish takes it that no other may: it polls although it is subscribed.
func TestAProcessThatMayNotPublishPolls(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		r, another := newRedis(t, server, RedisConfig{}), inMemory(t, server)
		r.hub.Publishing(channelOf("k"))(pubsub.Refused)
		another.HSet(t.Context(), "k", "java:1", 1)
		another.PExpire(t.Context(), "k", time.Hour)
		granted := make(chan *Lease)
		go func() { granted <- mustAcquire(t, r, "k") }()
		time.Sleep(time.Second)
		another.Del(t.Context(), "k")
		began := time.Now()
		lease := <-granted
		if waited := time.Since(began); waited > pollInterval {
			t.Errorf("it was granted the lock %s after the release, want %s at most", waited, pollInterval)
		}
		mustRelease(t, lease)
	})
}
