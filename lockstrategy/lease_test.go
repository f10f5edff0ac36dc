package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// server is a backend in the bubble's time: it says how renewals end.
type server struct {
	lease    time.Duration
	grants   atomic.Int32
	renewals atomic.Int32
	renew    func(context.Context) error // nil: they succeed
	releases atomic.Int32
	release  error
}

func (s *server) Grant(context.Context, string, Ask) (Terms, error) {
	s.grants.Add(1)
	return Terms{Until: time.Now().Add(s.lease), Renewal: s.lease / 3, Keeper: s}, nil
}

func (s *server) Renew(ctx context.Context) (time.Time, error) {
	asked := time.Now()
	s.renewals.Add(1)
	if s.renew != nil {
		if err := s.renew(ctx); err != nil {
			return time.Time{}, err
		}
	}
	return asked.Add(s.lease), nil
}

func (s *server) Release(context.Context, bool) (time.Duration, error) {
	s.releases.Add(1)
	return 0, s.release
}

func (s *server) Watch() (<-chan struct{}, func()) { return nil, func() {} }

// hold acquires a lease on s.
func (s *server) hold(ctx context.Context, t *testing.T) *Lease {
	t.Helper()
	lease, err := newGate(t, s).Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// Time in these tests is that of a synctest bubble: a Sleep there is the subject and takes none.

func TestLeaseIsRenewedAtAThird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: 30 * time.Second}
		lease := s.hold(t.Context(), t)
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if s.renewals.Load() != 60 || lease.Context().Err() != nil {
			t.Fatalf("%d renewals in ten minutes, want 60; context: %v", s.renewals.Load(), lease.Context().Err())
		}
		mustRelease(t, lease)
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.renewals.Load() != 60 {
			t.Fatal("a released lease is still renewed")
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, context.Canceled) || errors.Is(cause, ErrLost) {
			t.Fatalf("a released lease ends with %v", cause)
		}
	})
}

func TestLeaseIsLostWhenItCannotBeRenewedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: 30 * time.Second, renew: func(context.Context) error { return ErrUnavailable }}
		began := time.Now()
		lease := s.hold(t.Context(), t)
		<-lease.Context().Done()
		if lived := time.Since(began); lived != 30*time.Second {
			t.Fatalf("it was relied on for %s, want 30s", lived)
		}
		wantLost(t, s, lease)
		if s.renewals.Load() < 4 {
			t.Fatalf("only %d renewals were tried", s.renewals.Load())
		}
	})
}

func TestLeaseSurvivesRenewalsThatFailForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &server{lease: 30 * time.Second, renew: func(context.Context) error {
			if time.Since(began) < 25*time.Second {
				return ErrUnavailable
			}
			return nil
		}}
		lease := s.hold(t.Context(), t)
		time.Sleep(5 * time.Minute)
		mustRelease(t, lease)
	})
}

func TestLeaseIsLostAtOnceWhenTheServerSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: 30 * time.Second, renew: func(context.Context) error { return fmt.Errorf("%w: forced", ErrLost) }}
		began := time.Now()
		lease := s.hold(t.Context(), t)
		<-lease.Context().Done()
		if lived := time.Since(began); lived != 10*time.Second {
			t.Fatalf("it took %s until the loss was seen, want the first renewal at 10s", lived)
		}
		wantLost(t, s, lease)
	})
}

// A renewal that hangs must not hide that the lease ran out.
func TestLeaseIsLostInTimeAlthoughARenewalHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: 30 * time.Second, renew: func(context.Context) error {
			time.Sleep(time.Hour)
			return nil
		}}
		defer time.Sleep(2 * time.Hour) // the bubble ends when all has ended in it
		began := time.Now()
		lease := s.hold(t.Context(), t)
		<-lease.Context().Done()
		if lived := time.Since(began); lived != 30*time.Second {
			t.Fatalf("it was relied on for %s, want 30s", lived)
		}
		wantLost(t, s, lease)
	})
}

func TestReleaseSaysWhatTheServerSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: time.Second, release: ErrUnavailable}
		lease := s.hold(t.Context(), t)
		if err := lease.Release(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, ErrNotHeld) {
			t.Fatalf("a second release: got %v, want ErrNotHeld", err)
		}
		if s.releases.Load() != 1 {
			t.Fatalf("the server was asked %d times", s.releases.Load())
		}
	})
}

// A grant whose answer took longer than its lease is none: the key may be another's by now. The model check
// found it.
func TestALeaseThatIsOverIsNotGranted(t *testing.T) {
	for range 200 { // a timer ended the lease soon, and mostly in time
		synctest.Test(t, func(t *testing.T) {
			s := &server{lease: -time.Millisecond}
			if lease, err := newGate(t, s).Acquire(t.Context(), "k"); !errors.Is(err, ErrUnavailable) || lease != nil {
				t.Fatalf("got a lease (%v) whose time is over", err)
			}
			synctest.Wait()
			if s.releases.Load() != 1 {
				t.Fatal("the server was not asked to free what may still be there")
			}
		})
	}
}

func wantLost(t *testing.T, s *server, lease *Lease) {
	t.Helper()
	if cause := context.Cause(lease.Context()); !errors.Is(cause, ErrLost) {
		t.Fatalf("it ended with %v, want ErrLost", cause)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, ErrLost) {
		t.Fatalf("its release returned %v, want ErrLost", err)
	}
	synctest.Wait()
	if s.releases.Load() != 1 {
		t.Fatal("the server was not asked to free what may still be there")
	}
}
