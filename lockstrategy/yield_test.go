package lockstrategy

import (
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
)

// The yield rule, in a synctest bubble with a Redis in memory: nothing depends on the speed of the machine.

// inMemory connects to a server in the bubble.
func inMemory(t *testing.T, server *miniredis.Miniredis) *redis.Client {
	client := redis.NewClient(&redis.Options{
		Dialer:     func(context.Context, string, string) (net.Conn, error) { return server.Dial() },
		MaxRetries: -1, ContextTimeoutEnabled: true, Protocol: 2, DisableIdentity: true, ConnMaxIdleTime: -1, PoolSize: 100,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// turns lets processes with callers each want one key all the time, holding it for a millisecond, and returns which
// process had the key, turn for turn.
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

// After its turn a process lets those that wait go first: two processes take turns, and of more none comes again
// before all others have come.
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

// A process that listens and does not want the lock costs the others milliseconds, not its turn.
func TestAListenerThatDoesNotCompeteCostsMilliseconds(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		idle := pubsub.New(inMemory(t, server), false)
		defer idle.Close()
		defer idle.Listen(channelOf("k"), func(pubsub.Event) {})()
		synctest.Wait()
		c := newCohort(t, newRedis(t, server, RedisConfig{}), HandOff{})
		const turns = 10
		began := time.Now()
		for range turns {
			mustRelease(t, mustAcquire(t, c, "k"))
		}
		if took := time.Since(began); took != (turns-1)*firstProbe {
			t.Errorf("%d turns took %s, want %s between each two", turns, took, firstProbe)
		}
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
					leases = append(leases, wait(t, cohort, t.Context()))
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
