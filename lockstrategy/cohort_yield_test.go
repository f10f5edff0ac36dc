package lockstrategy

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// After a turn the cohort lets as many others go first as the release told: the next caller, and one that comes right
// after it. Later nothing is owed any more.
func TestCohortYieldsAfterItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Minute)
		f.others = 3
		var yields []int
		f.acquire = func(r Request) error { yields = append(yields, r.Others); return nil }
		c := newCohort(t, f, HandOff{Count: 1})
		first := mustAcquire(t, c, "k")
		next := wait(t, c)
		mustRelease(t, first)
		mustRelease(t, <-next)
		mustRelease(t, mustAcquire(t, c, "k")) // right after
		time.Sleep(yieldWindow)
		synctest.Wait()
		f.others = 0
		mustRelease(t, mustAcquire(t, c, "k"))
		mustRelease(t, mustAcquire(t, c, "k"))
		if want := []int{0, 3, 3, 0, 0}; !slices.Equal(yields, want) {
			t.Errorf("it let %v others go first, want %v", yields, want)
		}
		if len(c.queues) != 0 {
			t.Errorf("an idle cohort keeps %d queues", len(c.queues))
		}
	})
}

// A turn that ends later than another began its time does not forget the later one's debt.
func TestCohortKeepsTheDebtOfTheLastTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Minute)
		f.others = 1
		var yields []int
		f.acquire = func(r Request) error { yields = append(yields, r.Others); return nil }
		c := newCohort(t, f, HandOff{})
		mustRelease(t, mustAcquire(t, c, "k"))
		time.Sleep(yieldWindow / 2)
		lease := mustAcquire(t, c, "k")
		time.Sleep(yieldWindow / 4)
		mustRelease(t, lease)
		time.Sleep(yieldWindow / 2) // the time of the first turn's debt is over
		mustRelease(t, mustAcquire(t, c, "k"))
		time.Sleep(2 * yieldWindow)
		mustRelease(t, mustAcquire(t, c, "k"))
		if want := []int{0, 1, 1, 0}; !slices.Equal(yields, want) {
			t.Errorf("it let %v others go first, want %v", yields, want)
		}
	})
}

// One attempt that fails is no turn: the debt is still the next caller's.
func TestCohortKeepsTheDebtOverOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Minute)
		f.others = 1
		var yields []int
		f.acquire = func(r Request) error {
			yields = append(yields, r.Others)
			if r.Once {
				return ErrTaken
			}
			return nil
		}
		c := newCohort(t, f, HandOff{})
		mustRelease(t, mustAcquire(t, c, "k"))
		_, _ = c.Acquire(t.Context(), "k", TryOnce())
		mustRelease(t, mustAcquire(t, c, "k"))
		if want := []int{0, 0, 1}; !slices.Equal(yields, want) {
			t.Errorf("it let %v others go first, want %v", yields, want)
		}
	})
}

// Nor does a caller that leaves before the others went first take the debt with it.
func TestCohortKeepsTheDebtOfACallerThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, time.Minute)
		f.others = 3
		var yields []int
		f.acquire = func(r Request) error {
			if yields = append(yields, r.Others); len(yields) == 2 {
				return context.DeadlineExceeded
			}
			return nil
		}
		c := newCohort(t, f, HandOff{})
		mustRelease(t, mustAcquire(t, c, "k"))
		_, _ = c.Acquire(t.Context(), "k")
		mustRelease(t, mustAcquire(t, c, "k"))
		if want := []int{0, 3, 3}; !slices.Equal(yields, want) {
			t.Errorf("it let %v others go first, want %v", yields, want)
		}
	})
}
