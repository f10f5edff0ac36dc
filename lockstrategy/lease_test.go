package lockstrategy

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// server is a backend in the bubble's time: it says how renewals end.
type server struct {
	lease    time.Duration
	renewals int
	renew    func(context.Context) error // nil: they succeed
	releases int
	release  error
}

func (s *server) hold(ctx context.Context) *Lease {
	return hold(ctx, term{
		until: time.Now().Add(s.lease),
		every: s.lease / 3,
		renew: func(ctx context.Context) (time.Time, error) {
			asked := time.Now()
			s.renewals++
			if s.renew != nil {
				if err := s.renew(ctx); err != nil {
					return time.Time{}, err
				}
			}
			return asked.Add(s.lease), nil
		},
		release: func(context.Context) error { s.releases++; return s.release },
	})
}

// Time in these tests is that of a synctest bubble: a Sleep there is the subject and takes none.

func TestLeaseIsRenewedAtAThird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: 30 * time.Second}
		lease := s.hold(t.Context())
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if s.renewals != 60 || lease.Context().Err() != nil {
			t.Fatalf("%d renewals in ten minutes, want 60; context: %v", s.renewals, lease.Context().Err())
		}
		mustRelease(t, lease)
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.renewals != 60 {
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
		lease := s.hold(t.Context())
		<-lease.Context().Done()
		if lived := time.Since(began); lived != 30*time.Second {
			t.Fatalf("it was relied on for %s, want 30s", lived)
		}
		wantLost(t, s, lease)
		if s.renewals < 4 {
			t.Fatalf("only %d renewals were tried", s.renewals)
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
		lease := s.hold(t.Context())
		time.Sleep(5 * time.Minute)
		mustRelease(t, lease)
	})
}

func TestLeaseIsLostAtOnceWhenTheServerSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: 30 * time.Second, renew: func(context.Context) error { return fmt.Errorf("%w: forced", ErrLost) }}
		began := time.Now()
		lease := s.hold(t.Context())
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
		began := time.Now()
		lease := s.hold(t.Context())
		<-lease.Context().Done()
		if lived := time.Since(began); lived != 30*time.Second {
			t.Fatalf("it was relied on for %s, want 30s", lived)
		}
		wantLost(t, s, lease)
	})
}

func TestLeaseOutlivesTheContextItWasAcquiredUnder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		lease := (&server{lease: time.Second}).hold(ctx)
		cancel()
		synctest.Wait()
		if err := lease.Context().Err(); err != nil {
			t.Fatal(err)
		}
		mustRelease(t, lease)
	})
}

func TestReleaseSaysWhatTheServerSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: time.Second, release: ErrUnavailable}
		lease := s.hold(t.Context())
		if err := lease.Release(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Fatalf("got %v", err)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, ErrNotHeld) {
			t.Fatalf("a second release: got %v, want ErrNotHeld", err)
		}
		if s.releases != 1 {
			t.Fatalf("the server was asked %d times", s.releases)
		}
	})
}

func wantLost(t *testing.T, s *server, lease *Lease) {
	t.Helper()
	if cause := context.Cause(lease.Context()); !errors.Is(cause, ErrLost) {
		t.Fatalf("it ended with %v, want ErrLost", cause)
	}
	if err := lease.Release(t.Context()); !errors.Is(err, ErrLost) {
		t.Fatalf("its release returned %v, want ErrLost", err)
	}
	if s.releases != 1 {
		t.Fatal("the server was not asked to free what may still be there")
	}
}
