package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Time in these tests is that of a synctest bubble: a Sleep there is the subject and takes none.

func TestGateServesInOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, None{})
		first := mustAcquire(t, gate, "k")
		var served []int
		for i := range 10 {
			go func() {
				lease := mustAcquire(t, gate, "k")
				served = append(served, i) // under the gate, which is a lock
				time.Sleep(time.Second)    // the section's work, in the bubble's time
				mustRelease(t, lease)
			}()
			synctest.Wait() // until it stands in the queue
			if got := gate.Waiting(); got != i+1 {
				t.Fatalf("%d wait, want %d", got, i+1)
			}
		}
		mustRelease(t, first)
		time.Sleep(10*time.Second + 1)
		synctest.Wait()
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(served, want) {
			t.Fatalf("served %v, want %v", served, want)
		}
		if len(gate.queues) != 0 {
			t.Fatalf("an idle gate keeps %d queues", len(gate.queues))
		}
	})
}

func TestGateKeysAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, None{})
		a, b := mustAcquire(t, gate, "a"), mustAcquire(t, gate, "b") // a second wait would deadlock the bubble
		mustRelease(t, a)
		mustRelease(t, b)
	})
}

func TestGateForgetsAWaiterThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, None{})
		holder := mustAcquire(t, gate, "k")
		ctx, cancel := context.WithCancelCause(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := gate.Acquire(ctx, "k")
			left <- err
		}()
		synctest.Wait()
		reason := errors.New("the client went away")
		cancel(reason)
		synctest.Wait()
		err := <-left
		for _, want := range []error{ErrNotAcquired, context.Canceled, reason} {
			if !errors.Is(err, want) {
				t.Errorf("%v does not wrap %v", err, want)
			}
		}
		if gate.Waiting() != 0 {
			t.Fatal("the one who left still waits")
		}
		mustRelease(t, holder)
		mustRelease(t, mustAcquire(t, gate, "k"))
	})
}

// The turn may come at the moment in which the waiter leaves. It must not stay with it.
func TestGatePassesOnATurnThatCameTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, None{})
		holder := mustAcquire(t, gate, "k")
		late := &waiter{called: make(chan struct{}, 1)}
		gate.queues["k"].push(late)
		mustRelease(t, holder) // calls late
		gate.leave("k", late)  // who no longer wants it
		gate.background.Wait()
		mustRelease(t, mustAcquire(t, gate, "k"))
	})
}

func TestGatePassesOnAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		gate := newGate(t, backendFunc(func() (Terms, error) { return Terms{}, broken }))
		for range 3 {
			if _, err := gate.Acquire(t.Context(), "k"); !errors.Is(err, broken) {
				t.Fatalf("got %v", err)
			}
		}
	})
}

// Three hundred waiters, each finding out by itself after a second, would take five minutes.
func TestGateTellsEverybodyThatTheBackendIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(t, backendFunc(func() (Terms, error) {
			time.Sleep(time.Second)
			return Terms{}, fmt.Errorf("%w: %w", ErrNotAcquired, ErrUnavailable)
		}))
		began := time.Now()
		answers := make(chan error, 300)
		for range cap(answers) {
			go func() {
				_, err := gate.Acquire(t.Context(), "k")
				answers <- err
			}()
		}
		for range cap(answers) {
			if err := <-answers; !errors.Is(err, ErrUnavailable) || !errors.Is(err, ErrNotAcquired) {
				t.Fatalf("got %v", err)
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Fatalf("the last one heard of it after %s", took)
		}
		synctest.Wait()
		if len(gate.queues) != 0 {
			t.Fatal("a queue is left")
		}
	})
}

func TestGatePassesOnAfterAPanic(t *testing.T) {
	gate := newGate(t, backendFunc(func() (Terms, error) { panic("oops") }))
	func() {
		defer func() { _ = recover() }()
		_, _ = gate.Acquire(t.Context(), "k")
	}()
	if len(gate.queues) != 0 {
		t.Fatal("the turn is lost")
	}
}

func TestGateRefusesAContextThatHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range []Strategy{None{}, newGate(t, None{})} {
		if _, err := s.Acquire(ctx, "k"); !errors.Is(err, ErrNotAcquired) || !errors.Is(err, context.Canceled) {
			t.Errorf("%T: got %v", s, err)
		}
	}
}

// backendFunc is a backend that answers by itself.
type backendFunc func() (Terms, error)

func (f backendFunc) Grant(context.Context, string, Ask) (Terms, error) { return f() }

func newGate(t *testing.T, behind Backend) *Gate {
	t.Helper()
	g, err := NewGate(behind, HandOff{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustAcquire(t *testing.T, s Strategy, key string) *Lease {
	t.Helper()
	lease, err := s.Acquire(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func mustRelease(t *testing.T, l *Lease) {
	t.Helper()
	if err := l.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
}
