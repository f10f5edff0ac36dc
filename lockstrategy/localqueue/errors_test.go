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

// What ends one caller's attempt ends that attempt only: the callers behind it ask for themselves.
func TestQueueGoesOnAfterOneCallersError(t *testing.T) {
	for name, c := range map[string]struct {
		option  lockstrategy.Option
		asked   error         // what the backend answers,
		granted time.Duration // or after what time it grants the key
		want    error
	}{
		"an outage, tried once":       {lockstrategy.TryOnce(), lockstrategy.ErrUnavailable, 0, lockstrategy.ErrUnavailable},
		"an outage, waited too short": {lockstrategy.WaitAtMost(time.Millisecond), lockstrategy.ErrUnavailable, 0, lockstrategy.ErrUnavailable},
		"a grant after a short lease": {
			lockstrategy.LeaseFor(lockstrategy.ShortestLease), nil, 2 * lockstrategy.ShortestLease, lockstrategy.ErrExpired,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, calls := bubble.New(t, time.Minute), 0
			f.OnAcquire = func(lockstrategy.Request) error {
				if calls++; calls > 1 {
					return nil
				}
				time.Sleep(time.Second) // of the bubble: the others come meanwhile
				return c.asked
			}
			f.OnGrant = func() {
				if calls == 1 {
					time.Sleep(c.granted)
				}
			}
			q, first := newQueue(t, f, HandOff{}), make(chan error)
			go func() { _, err := q.Acquire(t.Context(), "k", c.option); first <- err }()
			synctest.Wait()
			next := bubble.Wait(t, q)
			if err := <-first; !errors.Is(err, c.want) || !errors.Is(err, lockstrategy.ErrNotAcquired) {
				t.Errorf("%s: the caller got %v, want %v", name, err, c.want)
			}
			lease := <-next
			if lease == nil {
				t.Fatalf("%s: the caller behind it got no lease", name)
			}
			bubble.Release(t, lease)
		})
	}
}
