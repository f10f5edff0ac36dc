package lockstrategy_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/locktest/bubble"
)

// Time in these tests is that of a synctest bubble: a Sleep there is work that lasts, and takes none.

func TestGuardHoldsTheLockWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &recorder{}
		guard := lockstrategy.Guard{Strategy: queueOver(t, lockstrategy.None{}), Observer: seen}
		inside := 0
		for range 5 {
			go func() {
				var work context.Context
				err := guard.Do(t.Context(), "k", func(ctx context.Context, _ uint64) error {
					if inside++; inside != 1 {
						t.Error("two simultaneously")
					}
					time.Sleep(time.Second)
					inside--
					work = ctx
					return nil
				})
				if err != nil || work.Err() == nil {
					t.Errorf("%v; the work is done, and its context lives: %t", err, work.Err() == nil)
				}
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if seen.acquired != 5 || seen.released != 5 || seen.refused != 0 || seen.held != 5*time.Second || seen.waited != (0+1+2+3+4)*time.Second {
			t.Fatalf("observed %d acquired, %d released, %d refused, held %s, waited %s",
				seen.acquired, seen.released, seen.refused, seen.held, seen.waited)
		}
	})
}

func TestGuardBoundsTheWaitAndNotTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &recorder{}
		guard := lockstrategy.Guard{Strategy: queueOver(t, lockstrategy.None{}), Wait: time.Second, Observer: seen}
		go func() {
			err := guard.Do(t.Context(), "k", func(ctx context.Context, _ uint64) error {
				time.Sleep(time.Minute) // far longer than the wait may be
				return ctx.Err()
			})
			if err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		began := time.Now()
		err := guard.Do(t.Context(), "k", func(context.Context, uint64) error { return nil })
		if !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Fatalf("after %s: %v", time.Since(began), err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if seen.refused != 1 || seen.released != 1 || seen.waited != time.Second {
			t.Fatalf("observed %d refused, %d released, waited %s", seen.refused, seen.released, seen.waited)
		}
	})
}

func TestGuardTellsOfALostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bubble.New(t, 3*time.Second)
		s.OnRenew = func(context.Context) error { return lockstrategy.ErrLost }
		guard := lockstrategy.Guard{Strategy: queueOver(t, s)}
		var cause error
		err := guard.Do(t.Context(), "k", func(ctx context.Context, _ uint64) error {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return ctx.Err()
		})
		if !errors.Is(cause, lockstrategy.ErrLost) || !errors.Is(err, lockstrategy.ErrLost) || !errors.Is(err, context.Canceled) {
			t.Fatalf("the work saw %v, the caller %v", cause, err)
		}
		err = guard.Do(t.Context(), "k", func(context.Context, uint64) error {
			time.Sleep(time.Minute) // work that does not look at its context
			return nil
		})
		if !errors.Is(err, lockstrategy.ErrLost) {
			t.Fatalf("work that finished after the loss counts as done: %v", err)
		}
	})
}

// The work ends with the context of its caller, and with its cause and its deadline, although the lease goes on.
func TestGuardEndsTheWorkWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := errors.New("the client has left")
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ctx, leave := context.WithCancelCause(ctx)
		guard := lockstrategy.Guard{Strategy: bubble.New(t, time.Minute)}
		err := guard.Do(ctx, "k", func(work context.Context, _ uint64) error {
			if deadline, bounded := work.Deadline(); !bounded || time.Until(deadline) != time.Hour {
				t.Errorf("the work has the deadline %s (%t)", deadline, bounded)
			}
			leave(left)
			<-work.Done()
			return context.Cause(work)
		})
		if !errors.Is(err, left) || errors.Is(err, lockstrategy.ErrLost) {
			t.Errorf("the work ended with %v", err)
		}
	})
}

func TestGuardReleasesAfterAPanicAndAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := queueOver(t, lockstrategy.None{})
		guard := lockstrategy.Guard{Strategy: queue, Wait: time.Second}
		func() {
			defer func() { _ = recover() }()
			_ = guard.Do(t.Context(), "k", func(context.Context, uint64) error { panic("oops") })
		}()
		failed := errors.New("failed")
		if err := guard.Do(t.Context(), "k", func(context.Context, uint64) error { return failed }); !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if lease, err := queue.Acquire(t.Context(), "k", lockstrategy.TryOnce()); err != nil || lease.Release(t.Context()) != nil {
			t.Fatalf("the lock was not released: %v", err)
		}
	})
}

func TestGuardsWorkIsDoneWhenTheReleaseIsNotConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := bubble.New(t, 3*time.Second), &recorder{}
		s.ReleaseError = errors.New("no answer")
		guard := lockstrategy.Guard{Strategy: s, Observer: seen}
		if err := guard.Do(t.Context(), "k", func(context.Context, uint64) error { return nil }); err != nil {
			t.Errorf("the work is done, and the caller was told %v", err)
		}
		if !errors.Is(seen.end, s.ReleaseError) || errors.Is(seen.end, lockstrategy.ErrLost) {
			t.Errorf("the observer was told %v", seen.end)
		}
	})
}

// recorder is an Observer. It is told of a release after the next holder was let in.
type recorder struct {
	mu                          sync.Mutex
	acquired, refused, released int
	held, waited                time.Duration
	end                         error // of the last release
}

func (r *recorder) Asked(d time.Duration, err error) {
	r.note(func() {
		if r.waited += d; err == nil {
			r.acquired++
		} else {
			r.refused++
		}
	})
}

func (r *recorder) Released(d time.Duration, end error) {
	r.note(func() { r.released++; r.held += d; r.end = end })
}

func (r *recorder) note(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

func TestGuardMakesOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := lockstrategy.Guard{Strategy: queueOver(t, lockstrategy.None{}), Wait: time.Minute}
		began, ran := time.Now(), false
		err := guard.Within(0).Do(t.Context(), "k", func(context.Context, uint64) error {
			ran = true
			for wait, want := range map[time.Duration]error{0: lockstrategy.ErrTaken, time.Second: context.DeadlineExceeded} {
				err := guard.Within(wait).Do(t.Context(), "k", func(context.Context, uint64) error { return nil })
				var holder lockstrategy.OtherHolder
				if !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, want) || !errors.As(err, &holder) || !holder.Here {
					t.Errorf("within %s: %v, want %v and a holder here", wait, err, want)
				}
			}
			return nil
		})
		if took := time.Since(began); err != nil || !ran || took != time.Second { // the second attempt waited
			t.Errorf("ran %t, after %s: %v", ran, took, err)
		}
	})
}

func TestRequestsThatCannotWork(t *testing.T) {
	for _, c := range []struct {
		name   string
		option lockstrategy.Option
		want   error // nil: another, before anything was asked
	}{
		{"no time left to wait", lockstrategy.WaitAtMost(0), context.DeadlineExceeded},
		{"less than none", lockstrategy.WaitAtMost(-time.Second), context.DeadlineExceeded},
		{"a lease of nothing", lockstrategy.LeaseFor(0), nil},
		{"a lease of a millisecond", lockstrategy.LeaseFor(time.Millisecond), nil},
		{"renewed for no time", lockstrategy.RenewAtMost(0), nil},
	} {
		// None is no lock, so it does not conform, but for this.
		for _, s := range []lockstrategy.Strategy{lockstrategy.None{}, queueOver(t, lockstrategy.None{})} {
			lease, err := s.Acquire(t.Context(), "k", c.option)
			if lease != nil || !errors.Is(err, lockstrategy.ErrNotAcquired) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: %s: got %v", fmt.Sprintf("%T", s), c.name, err)
			}
		}
	}
}

// queueOver is a strategy behind the queue of one process.
func queueOver(t *testing.T, s lockstrategy.Strategy) *localqueue.Queue {
	t.Helper()
	c, err := localqueue.New(s, localqueue.HandOff{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
