package lockstrategy

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"
)

// As in cohort_test.go, time is that of a synctest bubble: a Sleep is the subject and takes none.

// yieldsOf records how many others each acquire lets go first. answer is what the n-th gets, from 1.
func yieldsOf(f *fake, answer func(r Request, n int) error) *[]int {
	yields := new([]int)
	f.acquire = func(r Request) error {
		*yields = append(*yields, r.Yield)
		return answer(r, len(*yields))
	}
	return yields
}

func wantYields(t *testing.T, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("it let %v others go first, want %v", got, want)
	}
}

// After a turn the cohort lets as many others go first as the release told: the next caller, and one that comes right
// after it. Later nothing is owed any more.
func TestCohortYieldsAfterItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Minute)
		f.notifies = 3
		yields := yieldsOf(f, func(Request, int) error { return nil })
		c := newCohort(t, f, HandOff{Count: 1})
		first := mustAcquire(t, c, "k")
		next := wait(t, c)
		mustRelease(t, first)
		mustRelease(t, <-next)
		mustRelease(t, mustAcquire(t, c, "k")) // right after
		time.Sleep(debtKept)                   // the debt's time is over
		synctest.Wait()
		if len(c.queues) != 0 {
			t.Errorf("a cohort without a debt keeps %d queues", len(c.queues))
		}
		f.notifies = 0
		mustRelease(t, mustAcquire(t, c, "k"))
		mustRelease(t, mustAcquire(t, c, "k"))
		wantYields(t, *yields, []int{0, 3, 3, 0, 0})
		if len(c.queues) != 0 {
			t.Errorf("an idle cohort keeps %d queues", len(c.queues))
		}
	})
}

// A turn that ends later than another began its time does not forget the later one's debt.
func TestCohortKeepsTheDebtOfTheLastTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Minute)
		f.notifies = 1
		yields := yieldsOf(f, func(Request, int) error { return nil })
		c := newCohort(t, f, HandOff{})
		mustRelease(t, mustAcquire(t, c, "k"))
		time.Sleep(debtKept / 2) // the debt is kept
		lease := mustAcquire(t, c, "k")
		time.Sleep(debtKept / 4) // the second turn ends before the first one's debt
		mustRelease(t, lease)
		time.Sleep(debtKept / 2) // the time of the first turn's debt is over
		mustRelease(t, mustAcquire(t, c, "k"))
		time.Sleep(2 * debtKept) // that of the second, too
		mustRelease(t, mustAcquire(t, c, "k"))
		wantYields(t, *yields, []int{0, 1, 1, 0})
	})
}

// One attempt that fails is no turn: the debt is still the next caller's.
func TestCohortKeepsTheDebtOverOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Minute)
		f.notifies = 1
		yields := yieldsOf(f, func(r Request, _ int) error {
			if r.Once {
				return ErrTaken
			}
			return nil
		})
		c := newCohort(t, f, HandOff{})
		mustRelease(t, mustAcquire(t, c, "k"))
		_, _ = c.Acquire(t.Context(), "k", TryOnce())
		mustRelease(t, mustAcquire(t, c, "k"))
		wantYields(t, *yields, []int{0, 0, 1})
	})
}

// An attempt may take longer than the debt is kept. Then the next caller does not yield.
func TestADebtEndsDuringAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Minute)
		f.notifies = 1
		yields := yieldsOf(f, func(r Request, _ int) error {
			if r.Once {
				time.Sleep(debtKept) // of the bubble: the server is slow
				return ErrTaken
			}
			return nil
		})
		c := newCohort(t, f, HandOff{})
		mustRelease(t, mustAcquire(t, c, "k"))
		go func() { _, _ = c.Acquire(t.Context(), "k", TryOnce()) }()
		synctest.Wait()
		mustRelease(t, mustAcquire(t, c, "k"))
		wantYields(t, *yields, []int{0, 0, 0})
	})
}

// A caller that leaves before the others went first does not take the debt with it. The debt still ends at its time: callers that leave
// early do not keep their process from a free lock.
func TestCohortKeepsTheDebtOfACallerThatLeaves(t *testing.T) {
	for _, listeners := range []int{4, Unknown} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, time.Minute)
			f.notifies = listeners
			yields := yieldsOf(f, func(r Request, _ int) error {
				if r.Yield != 0 {
					return context.DeadlineExceeded
				}
				return nil
			})
			c := newCohort(t, f, HandOff{Count: 1})
			mustRelease(t, mustAcquire(t, c, "k"))
			for range 2 {
				_, _ = c.Acquire(t.Context(), "k")
				time.Sleep(debtKept / 2)
			}
			mustRelease(t, mustAcquire(t, c, "k"))
			wantYields(t, *yields, []int{0, listeners, listeners, 0})
		})
	}
}

// Where others cannot be counted, a process yields after as many leases as the bounds allow, over several turns.
func TestCohortCountsTheLeasesOfItsTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Minute)
		f.notifies = Unknown
		yields := yieldsOf(f, func(Request, int) error { return nil })
		c := newCohort(t, f, HandOff{Count: 4, Time: time.Hour})
		for range 5 { // turns of two leases
			first := mustAcquire(t, c, "k")
			second := wait(t, c)
			mustRelease(t, first)
			mustRelease(t, <-second)
		}
		wantYields(t, *yields, []int{0, 0, Unknown, 0, Unknown})
	})
}

// The bounds that are configured are those of each strategy's cohort.
func TestOpenPassesOnTheBounds(t *testing.T) {
	inBubble(t, func(t *testing.T, server *miniredis.Miniredis) {
		client, bounds := inMemory(t, server), HandOff{Count: 7, Time: time.Second}
		b := Backends{Redis: client, Nodes: []redis.UniversalClient{client}, Memcached: new(memcache.Client), HandOff: bounds}
		for _, name := range []string{NameProcess, NameRedis, NameRedLock, NameMemcached} {
			opened, err := Open(name, b)
			if err != nil {
				t.Fatal(err)
			}
			if opened.Cohort.bounds != bounds {
				t.Errorf("%s hands off within %+v, want %+v", name, opened.Cohort.bounds, bounds)
			}
			_ = opened.Close()
		}
	})
}

func TestNewCohortRefusesNegativeBounds(t *testing.T) {
	for _, bounds := range []HandOff{{Count: -1}, {Time: -1}} {
		if _, err := NewCohort(None{}, bounds); err == nil {
			t.Errorf("%+v is accepted", bounds)
		}
	}
}
