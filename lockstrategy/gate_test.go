package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Time in these tests is that of a synctest bubble: a Sleep there is the subject and takes none.

// What the gate promises is in the conformance suite; here is what needs a look inside or time that is fake.

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

// A lease may be lost on its way from one holder to the next, who has the turn then and must ask.
func TestGateAsksWhenALeaseIsLostOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: time.Minute}
		gate := newGate(t, s)
		holder := mustAcquire(t, gate, "k")
		next := &waiter{called: make(chan struct{}, 1)}
		gate.queues["k"].push(next)
		mustRelease(t, holder)
		<-next.called
		next.turn.tenure.lose(ErrGone)
		lease, err := gate.take(t.Context(), t.Context(), "k", &options{}, next)
		if err != nil || s.grants.Load() != 2 {
			t.Fatalf("%v after %d grants, want a second one", err, s.grants.Load())
		}
		mustRelease(t, lease)
		if len(gate.queues) != 0 {
			t.Fatalf("an idle gate keeps %d queues", len(gate.queues))
		}
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

// Three hundred waiters, each finding out by itself after a second, would take five minutes. How long it takes is the
// subject, and the time that of a bubble.
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

// backendFunc is a backend that answers by itself.
type backendFunc func() (Terms, error)

func (f backendFunc) Grant(context.Context, string, Ask) (Terms, error) { return f() }

func newGate(t *testing.T, behind Backend) *Cohort {
	t.Helper()
	g, err := NewCohort(behind, HandOff{})
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
