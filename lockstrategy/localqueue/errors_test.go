package localqueue

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
)

// A queue goes on after every error, and each caller is told its own.

// An outage that a caller learns who tries once ends its own attempt only. The callers behind it ask for themselves.
func TestQueueGoesOnAfterOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		f.OnAcquire = func(r lockstrategy.Request) error {
			if !r.Once {
				return nil
			}
			time.Sleep(time.Second) // of the bubble: the others come meanwhile
			return lockstrategy.ErrUnavailable
		}
		c, once := newQueue(t, f, HandOff{}), make(chan error)
		go func() { _, err := c.Acquire(t.Context(), "k", lockstrategy.TryOnce()); once <- err }()
		synctest.Wait()
		next := bubble.Wait(t, c)
		if err := <-once; !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Errorf("the caller that tries once got %v", err)
		}
		bubble.Release(t, <-next)
	})
}

// A caller whose wait ends as its queue learns of an outage is told of the outage.
func TestQueueTellsACallerThatLeavesOfTheOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newQueue(t, bubble.New(t, time.Minute), HandOff{})
		first, left := callerOf(t), callerOf(t)
		_, _ = c.arrive(first)
		place, _ := c.arrive(left)
		_ = c.failed(first, lockstrategy.ErrUnavailable)
		if err := c.leave(left, place); !errors.Is(err, lockstrategy.ErrUnavailable) {
			t.Errorf("it is told %v, want ErrUnavailable", err)
		}
	})
}

// A lease is lost on its way to a caller that leaves in this moment. The queue goes on, also when the caller learns of the loss first.
func TestQueueGoesOnAfterALossOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		f.Others = -1 // so the queue is kept when it is idle
		c := newQueue(t, f, HandOff{})
		bubble.Release(t, bubble.Acquire(t, c, "k"))
		first, left := bubble.Acquire(t, c, "k"), callerOf(t)
		place, err := c.arrive(left)
		if err != nil {
			t.Fatal(err)
		}
		turn := c.lines["k"].turn
		bubble.Release(t, first) // hands off
		turn.unwatch()
		f.Lose()
		_ = c.leave(left, place) // learns of the loss first
		c.lost("k", turn)        // as the watch for the loss does
		bubble.Release(t, bubble.Acquire(t, c, "k"))
	})
}

// A release that panics gives the queue on.
func TestQueueOutlivesAPanicInARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		c := newQueue(t, f, HandOff{Count: 1})
		lease := bubble.Acquire(t, c, "k")
		next := bubble.Wait(t, c)
		f.Panics.Store(true)
		func() {
			defer func() { _ = recover() }()
			_ = lease.Release(t.Context())
		}()
		f.Panics.Store(false)
		bubble.Release(t, <-next)
	})
}

// A grant that came too late for one caller's short lease is no outage: the callers behind it get theirs.
func TestQueueTellsOnlyTheCallerWhoseLeaseWasOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, slow := bubble.New(t, time.Minute), true
		f.OnGrant = func() {
			if slow {
				slow = false
				time.Sleep(2 * lockstrategy.ShortestLease) // of the bubble: the answer comes after the lease has ended
			}
		}
		c := newQueue(t, f, HandOff{})
		short := make(chan error)
		go func() {
			_, err := c.Acquire(t.Context(), "k", lockstrategy.LeaseFor(lockstrategy.ShortestLease))
			short <- err
		}()
		synctest.Wait()
		next := bubble.Wait(t, c)
		if err := <-short; !errors.Is(err, lockstrategy.ErrExpired) || !errors.Is(err, lockstrategy.ErrNotAcquired) {
			t.Errorf("the caller with a short lease got %v", err)
		}
		lease := <-next
		if lease == nil {
			t.Fatal("the next caller got no lease")
		}
		bubble.Release(t, lease)
	})
}
