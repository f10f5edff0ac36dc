package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Why a lease with terms of its own was lost. Time is that of a synctest bubble.
func TestTheCauseOfALossFollowsFromTheTerms(t *testing.T) {
	for _, c := range []struct {
		name   string
		total  time.Duration // AtMost
		silent bool          // the server never answers a renewal
		lives  time.Duration
		cause  error
	}{
		{"at most an hour, the server is away", time.Hour, true, 30 * time.Second, ErrUnreachable},
		{"at most twenty seconds, the server is away", 20 * time.Second, true, 20 * time.Second, ErrExpired},
		{"at most an hour", time.Hour, false, time.Hour, ErrExpired},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{lease: 30 * time.Second}
				if c.silent {
					s.renew = func(context.Context) error { return ErrUnavailable }
				}
				began := time.Now()
				lease, err := newGate(t, s).Acquire(t.Context(), "k", RenewAtMost(c.total))
				if err != nil {
					t.Fatal(err)
				}
				<-lease.Context().Done()
				if cause := context.Cause(lease.Context()); !errors.Is(cause, c.cause) || time.Since(began) != c.lives {
					t.Errorf("after %s it was lost with %v, want %s and %v", time.Since(began), cause, c.lives, c.cause)
				}
				_ = lease.Release(t.Context())
			})
		})
	}
}

// explicit is a server whose leases are not renewed. Its keeper's ring is pulled by hand.
type explicit struct {
	server
	ring chan struct{}
}

func (e *explicit) Grant(_ context.Context, _ string, ask Ask) (Terms, error) {
	return Terms{Until: time.Now().Add(ask.Lease), Keeper: e}, nil
}

func (e *explicit) Watch() (<-chan struct{}, func()) { return e.ring, func() {} }

// It hears that the lock may be gone, and the server does not answer the question: it asks again.
func TestAnExplicitLeaseAsksUntilItIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &explicit{ring: make(chan struct{}, 1)}
		e.renew = func(context.Context) error {
			if e.renewals.Load() < 3 {
				return ErrUnavailable
			}
			return ErrForced
		}
		lease, err := newGate(t, e).Acquire(t.Context(), "k", LeaseFor(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		e.ring <- struct{}{}
		began := time.Now()
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, ErrForced) || time.Since(began) > time.Minute {
			t.Errorf("after %s it was lost with %v, want ErrForced soon", time.Since(began), cause)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, ErrForced) {
			t.Errorf("its release returned %v", err)
		}
	})
}

// Under the context of a lease that entered again, what was acquired in between is held, too. A second wait
// would deadlock the bubble.
func TestAnOwnerEntersAgainOverSeveralKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, ctx := newGate(t, None{}), t.Context()
		var held []*Lease
		for _, key := range []string{"a", "b", "a", "b", "a"} {
			lease, err := gate.Acquire(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			held, ctx = append(held, lease), lease.Context()
		}
		for _, lease := range held {
			mustRelease(t, lease)
		}
		for _, key := range []string{"a", "b"} {
			mustRelease(t, mustAcquire(t, gate, key)) // both are free
		}
	})
}

func TestTermsThatAreNone(t *testing.T) {
	gate := newGate(t, None{})
	for _, c := range []struct {
		name   string
		option Option
		want   error // nil: another, before anything was asked
	}{
		{"no time left to wait", WaitAtMost(0), context.DeadlineExceeded},
		{"less than none", WaitAtMost(-time.Second), context.DeadlineExceeded},
		{"a lease of nothing", LeaseFor(0), nil},
		{"a lease of a millisecond", LeaseFor(time.Millisecond), nil},
		{"at most nothing", RenewAtMost(0), nil},
	} {
		lease, err := gate.Acquire(t.Context(), "k", c.option)
		if lease != nil || !errors.Is(err, ErrNotAcquired) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	if gate.Waiting() != 0 || len(gate.queues) != 0 {
		t.Error(fmt.Sprint("something is left: ", gate.queues))
	}
}
