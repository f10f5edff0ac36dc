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

// A lease that is handed off leaves the first holder's context behind: that has ended, and its values are not the next holder's.
func TestQueueKeepsContextsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type tag struct{}
		c := newQueue(t, bubble.New(t, time.Minute), HandOff{Count: 100, Time: time.Hour})
		first, err := c.Acquire(context.WithValue(t.Context(), tag{}, "the first request's"), "k")
		if err != nil {
			t.Fatal(err)
		}
		next := bubble.Wait(t, c)
		bubble.Release(t, first)
		second := <-next
		if first.Context().Err() == nil {
			t.Error("the context of a released lease has not ended")
		}
		if got := second.Context().Value(tag{}); got != nil {
			t.Errorf("the second holder has %v", got)
		}
		bubble.Release(t, second)
	})
}

// Under the context of a lease that was lost nobody enters again: there would be nothing to hold.
func TestQueueEntersNoLeaseThatWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		f.OnRenew = func(context.Context) error { return lockstrategy.ErrGone }
		c := newQueue(t, f, HandOff{})
		lease := bubble.Acquire(t, c, "k")
		next := bubble.Wait(t, c)
		<-lease.Context().Done()
		bubble.Release(t, <-next) // the next caller's turn has come, although nobody has released
		another := bubble.Acquire(t, c, "k")
		defer func() { bubble.Release(t, another) }()
		work := context.WithoutCancel(lease.Context()) // the caller still knows its lease
		if again, err := c.Acquire(work, "k", lockstrategy.TryOnce()); again != nil || !errors.Is(err, lockstrategy.ErrNotAcquired) {
			t.Errorf("it entered again: %v", err)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) {
			t.Errorf("the release of the lost lease says %v", err)
		}
	})
}

// Each holder of a turn has a token of its own. A turn ends when its tokens are used up, whatever the bounds say.
func TestQueueGivesEachHolderATokenOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		f.OnAcquire = func(lockstrategy.Request) error { f.Number++; return nil }
		c := newQueue(t, f, HandOff{Count: 1000, Time: time.Hour})
		first := bubble.Acquire(t, c, "k")
		var all []<-chan *lockstrategy.Lease
		for range 300 {
			all = append(all, bubble.Wait(t, c))
		}
		tokens := []uint64{first.FencingToken()}
		bubble.Release(t, first)
		for _, next := range all {
			lease := <-next
			tokens = append(tokens, lease.FencingToken())
			bubble.Release(t, lease)
		}
		for i, token := range tokens {
			if want := 256 + uint64(i); token != want { // the second grant follows the first with the number 2, which is 512
				t.Fatalf("holder %d has token %d, want %d", i, token, want)
			}
		}
		if f.Grants.Load() != 2 {
			t.Errorf("%d grants, want 2: a grant has room for 256 leases", f.Grants.Load())
		}
	})
}

// A caller does not enter again under a context that has ended.
func TestQueueDoesNotEnterAgainUnderAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newQueue(t, bubble.New(t, time.Minute), HandOff{})
		lease := bubble.Acquire(t, c, "k")
		ctx, cancel := context.WithCancel(lease.Context())
		cancel()
		if _, err := c.Acquire(ctx, "k"); !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		bubble.Release(t, lease)
	})
}
