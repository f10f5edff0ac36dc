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

	"locklab/internal/testenv"
	"locklab/lockstrategy/pubsub"
)

// The yield rule, in a synctest bubble with a Redis in memory: nothing depends on the speed of the machine.

// inMemory connects to a server in the bubble.
func inMemory(t *testing.T, server *miniredis.Miniredis) *redis.Client {
	return connect(t, func(context.Context, string, string) (net.Conn, error) { return server.Dial() })
}

func connect(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error)) *redis.Client {
	client := testenv.InBubble(dial)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// wantListeners releases a lease, and wants its release to notify a number of other processes.
func wantListeners(t *testing.T, lease *Lease, want int) {
	t.Helper()
	if listeners, err := lease.release(t.Context()); err != nil || listeners != want {
		t.Errorf("the release notified %d other processes (%v), want %d", listeners, err, want)
	}
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
		r, err := NewRedis(inMemory(t, server), Timing{})
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

// listen lets n processes listen to releases of a key that they do not want.
func listen(t *testing.T, server *miniredis.Miniredis, n int) {
	for range n {
		hub := pubsub.New(inMemory(t, server), false)
		t.Cleanup(hub.Close)
		t.Cleanup(hub.Listen(channelOf("k"), func(bool) {}))
	}
	synctest.Wait()
}

// Processes that listen and do not want the lock cost the others milliseconds, not their turns.
func TestAListenerThatDoesNotCompeteCostsMilliseconds(t *testing.T) {
	for listeners, each := range map[int]time.Duration{1: probeAfter, 2: 2 * probeAfter, 20: longestProbe} {
		t.Run(fmt.Sprint(listeners), func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
				listen(t, server, listeners)
				c := newCohort(t, newRedis(t, server, Timing{}), HandOff{})
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
		listen(t, server, 1)
		c, another := newCohort(t, newRedis(t, server, Timing{}), HandOff{}), inMemory(t, server)
		mustRelease(t, mustAcquire(t, c, "k"))
		another.HSet(t.Context(), "k", "java:1", 1)
		another.PExpire(t.Context(), "k", time.Second)
		before, began := server.CommandCount(), time.Now()
		mustRelease(t, mustAcquire(t, c, "k"))
		if waited := time.Since(began); waited > time.Second+longestProbe {
			t.Errorf("it waited %s for a key that was held for a second", waited)
		}
		// A process subscribes, probes once (a script and three commands in it), acquires and releases.
		if sent, most := server.CommandCount()-before, 20; sent > most {
			t.Errorf("in a second the server executed %d commands, want %d at most", sent, most)
		}
	})
}

// A process lets two others go first. One has its turn, the other does not want the key: then the process waits for milliseconds.
func TestAProcessProbesAgainAfterARelease(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		listen(t, server, 1)
		one, two := newCohort(t, newRedis(t, server, Timing{}), HandOff{}), newCohort(t, newRedis(t, server, Timing{}), HandOff{})
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
		one := newRedis(t, server, Timing{})
		for _, waiting := range [][]*Redis{nil, {one}, {newRedis(t, server, Timing{}), one, newRedis(t, server, Timing{})}} {
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
			wantListeners(t, lease, others)
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
		f.notifies = Unknown
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
			time.Sleep(2 * debtKept)
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
		r, began := newRedis(t, server, Timing{}), time.Now()
		w := waiter{hubs: []*pubsub.Hub{r.hub}, channel: channelOf("k"), life: t.Context(), interval: pollInterval}
		err := w.yield(t.Context(), Unknown)
		if waited := time.Since(began); err != nil || waited <= pollInterval || waited > 2*pollInterval {
			t.Errorf("it competed again after %s (%v); the others poll every %s", waited, err, pollInterval)
		}
	})
}

// polling is a fake that is not notified.
type polling struct{ *fake }

func (p polling) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	return p.Sessions.Poll(ctx, key, options, pollInterval, func(r Request) (Grant, bool, error) { return p.try(key, r) })
}

// A process that lets another go first, and finds that the other holds the key, is notified of the release. It asks once in a second,
// because a message may get lost.
func TestAProcessThatYieldsDoesNotPoll(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		one, two := newCohort(t, newRedis(t, server, Timing{}), HandOff{}), newCohort(t, newRedis(t, server, Timing{}), HandOff{})
		first := mustAcquire(t, one, "k")
		other, again := make(chan *Lease), make(chan *Lease)
		go func() { other <- mustAcquire(t, two, "k") }()
		synctest.Wait()
		mustRelease(t, first)
		held := <-other
		go func() { again <- mustAcquire(t, one, "k") }()
		time.Sleep(500 * time.Millisecond)
		before := server.CommandCount()
		time.Sleep(9 * time.Second)
		const try = 4                                              // the script, and three commands in it
		if sent := server.CommandCount() - before; sent > 20*try { // renewals and pings as well; a process that polls sends a thousand
			t.Errorf("%d commands in nine seconds in which nothing was released, want one try in each", sent)
		}
		released := time.Now()
		mustRelease(t, held)
		mustRelease(t, <-again)
		if waited := time.Since(released); waited > 0 {
			t.Errorf("it was granted the lock %s after the release", waited)
		}
	})
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
