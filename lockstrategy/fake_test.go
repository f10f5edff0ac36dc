package lockstrategy

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a backend in the time of a synctest bubble: every key is free, and the test says how requests end. Its leases
// are kept by real sessions.
type fake struct {
	Sessions *Sessions
	lease    time.Duration
	number   uint64 // of the next grant; 0: none
	grants   atomic.Int32
	renewals atomic.Int32
	releases atomic.Int32
	notifies int                         // the number of listeners that a release notifies
	panics   atomic.Bool                 // a release panics
	acquire  func(Request) error         // nil: every key is free
	answers  func()                      // after a grant; nil: immediately
	renew    func(context.Context) error // nil: it is confirmed
	release  error                       // nil: it is confirmed
	watch    func(notify func(bool)) (stop func())
}

func newFake(t *testing.T, lease time.Duration) *fake {
	f := &fake{Sessions: NewSessions(), lease: lease}
	t.Cleanup(f.Sessions.Close)
	return f
}

// Acquire implements Strategy.
func (f *fake) Acquire(ctx context.Context, key string, options ...Option) (*Lease, error) {
	request, err := NewRequest(options...)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	g, _, err := f.try(key, request)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	return f.Sessions.Begin(ctx, request, g)
}

func (f *fake) try(key string, request Request) (g Grant, granted bool, err error) {
	if f.acquire != nil {
		if err := f.acquire(request); err != nil {
			return g, false, err
		}
	}
	f.grants.Add(1)
	g = Grant{Key: key, Asked: time.Now(), Watch: f.watch, Number: f.number, Renew: f.renewed, Release: f.released}
	g.Expiry, g.Renewed = request.expiry(f.lease)
	if f.answers != nil {
		f.answers()
	}
	return g, true, nil
}

func (f *fake) renewed(ctx context.Context) error {
	f.renewals.Add(1)
	if f.renew == nil {
		return nil
	}
	return f.renew(ctx)
}

func (f *fake) released(ctx context.Context) (int, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	f.releases.Add(1)
	if f.panics.Load() {
		panic("oops")
	}
	return f.notifies, f.release
}

func newCohort(t *testing.T, s Strategy, bounds HandOff) *Cohort {
	t.Helper()
	c, err := NewCohort(s, bounds)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustAcquire(t *testing.T, s Strategy, key string, options ...Option) *Lease {
	t.Helper()
	lease, err := s.Acquire(context.Background(), key, options...)
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
