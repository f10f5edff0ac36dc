package lockstrategy

import (
	"context"
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
