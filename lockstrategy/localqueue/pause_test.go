package localqueue

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
)

// As in localqueue_test.go, time is that of a synctest bubble: a Sleep is the subject and takes none.

// After a turn whose release reached another process, the others go first: before the caller that waits, and one that comes immediately
// afterwards. Then they do so no more, and the queue keeps nothing.
func TestAProcessYieldsAfterItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		f.Others = 3
		c := newQueue(t, f, HandOff{Count: 1})
		first := bubble.Acquire(t, c, "k")
		next, began := bubble.Wait(t, c), time.Now()
		bubble.Release(t, first)
		bubble.Release(t, <-next)
		bubble.Release(t, bubble.Acquire(t, c, "k"))
		if waited := time.Since(began); waited != 2*bubble.Yield {
			t.Errorf("two turns after others began %s later, want %s", waited, 2*bubble.Yield)
		}
		f.Others = 0
		bubble.Release(t, bubble.Acquire(t, c, "k"))
		began = time.Now()
		bubble.Release(t, bubble.Acquire(t, c, "k"))
		if waited := time.Since(began); waited != 0 {
			t.Errorf("nobody waits, and it paused for %s", waited)
		}
		time.Sleep(2 * remembered)
		synctest.Wait()
		if len(c.lines) != 0 {
			t.Errorf("an idle queue keeps %d lines", len(c.lines))
		}
	})
}

// One attempt does not yield: it asks the server. The caller after it does.
func TestOneAttemptDoesNotYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		f.Others = 1
		c := newQueue(t, f, HandOff{})
		bubble.Release(t, bubble.Acquire(t, c, "k"))
		f.OnAcquire = func(r lockstrategy.Request) error {
			if r.Once {
				return lockstrategy.ErrTaken
			}
			return nil
		}
		began := time.Now()
		_, err := c.Acquire(t.Context(), "k", lockstrategy.TryOnce())
		if waited := time.Since(began); !errors.Is(err, lockstrategy.ErrTaken) || waited != 0 {
			t.Errorf("after %s: %v", waited, err)
		}
		bubble.Release(t, bubble.Acquire(t, c, "k"))
		if waited := time.Since(began); waited != bubble.Yield {
			t.Errorf("the next caller waited %s, want %s", waited, bubble.Yield)
		}
	})
}

// A caller that leaves while it lets others go first is gone, and the next one yields in its place.
func TestACallerLeavesWhileItYields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		f.Others = -1
		c := newQueue(t, f, HandOff{Count: 1})
		bubble.Release(t, bubble.Acquire(t, c, "k"))
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		_, err := c.Acquire(ctx, "k")
		if !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, context.Canceled) || time.Since(began) != time.Millisecond {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		bubble.Release(t, bubble.Acquire(t, c, "k"))
		if waited := time.Since(began); waited <= bubble.Poll || waited > 2*bubble.Poll {
			t.Errorf("it competed again after %s; the others poll every %s", waited, bubble.Poll)
		}
	})
}

// A caller that may wait for a short time only asks the server after half of it.
func TestAShortWaitAsksTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		f.Others = -1
		c := newQueue(t, f, HandOff{Count: 1})
		bubble.Release(t, bubble.Acquire(t, c, "k"))
		began := time.Now()
		bubble.Release(t, bubble.Acquire(t, c, "k", lockstrategy.WaitAtMost(bubble.Poll)))
		if waited := time.Since(began); waited != bubble.Poll/2 {
			t.Errorf("it asked after %s of the %s for which it may wait", waited, bubble.Poll)
		}
	})
}

// Where nobody can tell whether others wait, they poll. Then a process waits for a little more than their interval, after as many leases,
// or as much time, as the bounds of one turn allow. After each turn it would cost far more than the lock.
func TestAProcessYieldsToOthersThatPoll(t *testing.T) {
	const bounded = 20
	for name, bounds := range map[string]HandOff{
		"by time": {Time: bounded * time.Millisecond}, "by count": {Count: bounded, Time: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := bubble.New(t, time.Minute)
				f.Others = -1
				c := newQueue(t, f, bounds)
				for range 3 {
					began := time.Now()
					for range bounded {
						lease := bubble.Acquire(t, c, "k")
						time.Sleep(time.Millisecond)
						bubble.Release(t, lease)
					}
					if used := time.Since(began); used != bounded*time.Millisecond {
						t.Errorf("it paused within %d turns of a millisecond: they took %s", bounded, used)
					}
					began = time.Now()
					bubble.Release(t, bubble.Acquire(t, c, "k"))
					if waited := time.Since(began); waited <= bubble.Poll || waited > 2*bubble.Poll {
						t.Errorf("it competed again after %s; the others poll every %s", waited, bubble.Poll)
					}
					time.Sleep(2 * remembered)
					synctest.Wait()
					if len(c.lines) != 0 {
						t.Errorf("an idle queue keeps %d lines", len(c.lines))
					}
				}
			})
		})
	}
}

// Nothing is handed off beyond the bounds.
func TestQueueEndsItsTurn(t *testing.T) {
	for _, c := range []struct {
		name   string
		bounds HandOff
		turns  int32 // of ten leases
	}{
		{"by count", HandOff{Count: 5, Time: time.Hour}, 2},
		{"by time", HandOff{Count: 100, Time: 5 * time.Millisecond}, 2},
		{"by neither", HandOff{Count: 100, Time: time.Hour}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := bubble.New(t, time.Minute)
				queue := newQueue(t, f, c.bounds)
				leases := []<-chan *lockstrategy.Lease{}
				first := bubble.Acquire(t, queue, "k")
				for range 9 {
					leases = append(leases, bubble.Wait(t, queue))
				}
				time.Sleep(time.Millisecond)
				bubble.Release(t, first)
				for _, granted := range leases {
					lease := <-granted
					time.Sleep(time.Millisecond)
					bubble.Release(t, lease)
				}
				if f.Grants.Load() != c.turns {
					t.Errorf("ten leases took %d turns, want %d", f.Grants.Load(), c.turns)
				}
			})
		})
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	if _, err := New(nil, HandOff{}); err == nil {
		t.Error("a queue in front of nothing is accepted")
	}
	for _, bounds := range []HandOff{{Count: -1}, {Time: -1}} {
		if _, err := New(lockstrategy.None{}, bounds); err == nil {
			t.Errorf("%+v is accepted", bounds)
		}
	}
}
