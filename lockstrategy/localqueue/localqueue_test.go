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

// Time in these tests is that of a synctest bubble: a Sleep there is the subject and takes none.

// The conformance suite tests the promises of a queue over real backends. The tests here look inside, or need time that
// is fake.

// callerOf is a caller that waits as long as the test.
func callerOf(t *testing.T) *caller {
	return &caller{ctx: t.Context(), wait: t.Context(), key: "k", ready: make(chan answer, 1)}
}

// The turn may come at the moment in which the caller leaves. It must not stay with it.
func TestQueuePassesOnATurnThatCameTooLate(t *testing.T) {
	for _, bounds := range []HandOff{{}, {Count: 1}} { // the lease is handed off, or only the turn
		synctest.Test(t, func(t *testing.T) {
			c := newQueue(t, bubble.New(t, time.Minute), bounds)
			first := bubble.Acquire(t, c, "k")
			w := callerOf(t)
			element, err := c.arrive(w)
			if err != nil {
				t.Fatal(err)
			}
			bubble.Release(t, first) // calls w
			c.leave(w, element)      // the caller no longer wants it
			synctest.Wait()
			bubble.Release(t, bubble.Acquire(t, c, "k"))
		})
	}
}

// A lease may be lost on its way from one holder to the next. The next one has the turn, and competes.
func TestQueueCompetesWhenALeaseIsLostOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		c := newQueue(t, f, HandOff{})
		first := bubble.Acquire(t, c, "k")
		w := callerOf(t)
		if _, err := c.arrive(w); err != nil {
			t.Fatal(err)
		}
		bubble.Release(t, first)
		handedOff := <-w.ready
		f.Lose()
		lease, err := c.take(w, handedOff)
		if err != nil || f.Grants.Load() != 2 {
			t.Fatalf("%v after %d grants, want a second one", err, f.Grants.Load())
		}
		bubble.Release(t, lease)
		if len(c.lines) != 0 {
			t.Fatalf("an idle queue keeps %d queues", len(c.lines))
		}
	})
}

// A lease may be lost while it is released: the holder is told, because another client may have worked beside it.
func TestQueueTellsOfALossDuringTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		c := newQueue(t, f, HandOff{})
		lease := bubble.Acquire(t, c, "k")
		h := lease.Holder().(*holder)
		h.cancel(nil) // the release has begun
		f.Lose()
		if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) {
			t.Errorf("the release says %v, want ErrGone", err)
		}
	})
}

// The next holder may begin as soon as the lease is handed off. So the context of the one before ends first. This test is in no bubble: a
// goroutine that waits for a mutex stops its clock.
func TestQueueEndsAContextBeforeItHandsOff(t *testing.T) {
	c := newQueue(t, bubble.New(t, time.Minute), HandOff{})
	first := bubble.Acquire(t, c, "k")
	inner, err := c.Acquire(first.Context(), "k") // the same caller enters again
	if err != nil {
		t.Fatal(err)
	}
	bubble.Release(t, inner)
	w := callerOf(t)
	if _, err := c.arrive(w); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock() // nothing is handed off meanwhile
	released := make(chan error)
	go func() { released <- first.Release(context.Background()) }()
	select {
	case <-first.Context().Done():
		if inner.Context().Err() == nil {
			t.Error("the context of the caller's second entry lives longer")
		}
	case <-time.After(10 * time.Second):
		t.Error("it still lives when its lease is handed off")
	}
	c.mu.Unlock()
	if err := <-released; err != nil {
		t.Error(err)
	}
	lease, err := c.take(w, <-w.ready)
	if err != nil {
		t.Fatal(err)
	}
	bubble.Release(t, lease)
}

// Three hundred callers, each finding out by itself after a second, would take five minutes. How long it takes is the
// subject.
func TestQueueTellsEverybodyThatTheBackendIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		f.OnAcquire = func(lockstrategy.Request) error {
			time.Sleep(time.Second) // a timeout, in the time of the bubble
			return lockstrategy.ErrUnavailable
		}
		c, began := newQueue(t, f, HandOff{}), time.Now()
		answers := make(chan error, 300)
		for range cap(answers) {
			go func() {
				_, err := c.Acquire(t.Context(), "k")
				answers <- err
			}()
		}
		for range cap(answers) {
			if err := <-answers; !errors.Is(err, lockstrategy.ErrUnavailable) || !errors.Is(err, lockstrategy.ErrNotAcquired) {
				t.Fatalf("got %v", err)
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Fatalf("the last one was told after %s", took)
		}
		synctest.Wait()
		if len(c.lines) != 0 {
			t.Fatal("a queue is left")
		}
	})
}

func TestQueuePassesOnAfterAPanic(t *testing.T) {
	f := bubble.New(t, time.Minute)
	f.OnAcquire = func(lockstrategy.Request) error { panic("oops") }
	c := newQueue(t, f, HandOff{})
	func() {
		defer func() { _ = recover() }()
		_, _ = c.Acquire(t.Context(), "k")
	}()
	if len(c.lines) != 0 {
		t.Fatal("the turn is lost")
	}
}

// A lease whose renewals fail goes back to the server, so that no caller is handed a lease that it would lose.
func TestQueueHandsOffNoLeaseThatIsNotRenewed(t *testing.T) {
	for _, c := range []struct {
		name   string
		renew  error
		grants int32
	}{
		{"it is renewed", nil, 1},
		{"it is not renewed", lockstrategy.ErrUnavailable, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := bubble.New(t, time.Minute)
				f.OnRenew = func(context.Context) error { return c.renew }
				queue := newQueue(t, f, HandOff{Count: 100, Time: time.Hour})
				first := bubble.Acquire(t, queue, "k")
				next := bubble.Wait(t, queue)
				time.Sleep(31 * time.Second) // of the bubble: a little more than half of the lease
				bubble.Release(t, first)
				bubble.Release(t, <-next)
				if f.Grants.Load() != c.grants {
					t.Errorf("%d grants, want %d", f.Grants.Load(), c.grants)
				}
			})
		})
	}
}

// A lease with the bounds of one caller would end for the next one by what it has not asked for. Nor does such a caller take another's.
func TestQueueHandsOffNoLeaseWithOneCallersBounds(t *testing.T) {
	for name, option := range map[string]lockstrategy.Option{
		"LeaseFor": lockstrategy.LeaseFor(time.Minute), "RenewAtMost": lockstrategy.RenewAtMost(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := bubble.New(t, time.Minute)
				c := newQueue(t, f, HandOff{Count: 100, Time: time.Hour})
				first := bubble.Acquire(t, c, "k")
				next, last := bubble.Wait(t, c, option), bubble.Wait(t, c)
				bubble.Release(t, first)
				bubble.Release(t, <-next)
				bubble.Release(t, <-last)
				if f.Grants.Load() != 3 {
					t.Errorf("%d grants, want one for each caller", f.Grants.Load())
				}
			})
		})
	}
}

// A queue that is closed tells the callers that wait. A lease that was on its way to a caller that has left goes back.
func TestQueueCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		c := newQueue(t, f, HandOff{})
		first := bubble.Acquire(t, c, "k")
		left := callerOf(t)
		element, err := c.arrive(left)
		if err != nil {
			t.Fatal(err)
		}
		bubble.Release(t, first) // hands off
		waits := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			_, err := c.Acquire(ctx, "k")
			waits <- err
		}()
		synctest.Wait()
		c.Close()
		if err := <-waits; !errors.Is(err, lockstrategy.ErrUnavailable) || !errors.Is(err, lockstrategy.ErrNotAcquired) {
			t.Errorf("a caller that waited got %v", err)
		}
		if _, err := c.Acquire(t.Context(), "k"); !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Errorf("a later caller got %v", err)
		}
		c.leave(left, element)
		if f.Releases.Load() != 1 {
			t.Errorf("%d releases of a lease that nobody holds, want 1", f.Releases.Load())
		}
	})
}

func newQueue(t *testing.T, s lockstrategy.Strategy, bounds HandOff) *Queue {
	t.Helper()
	c, err := New(s, bounds)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
