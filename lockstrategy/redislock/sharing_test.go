package redislock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/lockstrategy/redislock/pubsub"
	"locklab/lockstrategy/redislock/script"
)

// The yield rule, in a synctest bubble with a Redis in memory: nothing depends on the speed of the machine.

// turns lets processes with callers each want one key all the time, and hold it for a millisecond. It returns which process had the
// key, turn for turn.
func turns(t *testing.T, processes, callers, grants int, bounds localqueue.HandOff) (order []int) {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	defer server.Close()
	var mu sync.Mutex
	var all sync.WaitGroup
	var ends []func()
	for p := range processes {
		r, err := New(bubble.Client(t, server), lockstrategy.Timing{})
		if err != nil {
			t.Fatal(err)
		}
		s := queued(t, r, bounds)
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

// listen lets n processes listen to releases of a key that they do not want.
func listen(t *testing.T, server *miniredis.Miniredis, n int) {
	for range n {
		hub := pubsub.New(bubble.Client(t, server), false)
		t.Cleanup(hub.Close)
		t.Cleanup(hub.Listen(script.Channel("k"), func(bool) {}))
	}
	synctest.Wait()
}

// Two processes take turns, and of more none comes again before all others have come, however long a turn is.
func TestProcessesTakeTurns(t *testing.T) {
	for _, c := range []struct{ processes, callers, count int }{{2, 8, 4}, {2, 1, 1}, {3, 4, 2}, {5, 60, 50}, {8, 1, 1}} {
		t.Run(fmt.Sprintf("%d processes, %d callers", c.processes, c.callers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				order := turns(t, c.processes, c.callers, c.processes*c.count*30, localqueue.HandOff{Count: c.count, Time: time.Hour})
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

// A process whose release was notified to itself only has nobody to let go first.
func TestAProcessDoesNotYieldToItself(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		one := newRedis(t, server, lockstrategy.Timing{})
		for _, others := range []int{0, 2} {
			listen(t, server, others)
			lease := bubble.Acquire(t, one, "k")
			time.Sleep(lockstrategy.DefaultLease / 2) // the holder listens
			bubble.Release(t, lease)
			if n := lease.Holder().(lockstrategy.Yielder).Others(); n != others {
				t.Errorf("its release has notified %d others, want %d", n, others)
			}
		}
	})
}

// Java takes the key a moment after it was notified. A process with many callers leaves it that chance after each turn, although it is
// notified of its own release as well.
func TestAProcessLeavesJavaItsChance(t *testing.T) {
	bubble.Redis(t, func(t *testing.T, server *miniredis.Miniredis) {
		java, ctx := bubble.Client(t, server), t.Context()
		messages := java.Subscribe(ctx, script.Channel("k"))
		defer messages.Close()
		receive := func() {
			if _, err := messages.ReceiveMessage(ctx); err != nil {
				t.Fatal(err)
			}
		}
		c := queued(t, newRedis(t, server, lockstrategy.Timing{}), localqueue.HandOff{Count: 4, Time: time.Hour})
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for range 20 {
					lease := bubble.Acquire(t, c, "k")
					time.Sleep(time.Millisecond)
					bubble.Release(t, lease)
				}
			})
		}
		for turn := range 8 * 20 / 4 {
			receive()
			time.Sleep(500 * time.Microsecond) // a JVM is not as fast as we are
			if server.Exists("k") {
				t.Fatalf("after turn %d the process has the key again", turn)
			}
			server.HSet("k", "java:1", "1")
			time.Sleep(time.Millisecond)
			server.Del("k")
			java.Publish(ctx, script.Channel("k"), "0")
			receive() // its own message
		}
		callers.Wait()
	})
}
