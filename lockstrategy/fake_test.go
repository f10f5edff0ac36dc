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
	token    uint64 // of the next grant; 0: none
	grants   atomic.Int32
	renewals atomic.Int32
	releases atomic.Int32
	others   int                         // what a release says
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
	if err == nil && f.acquire != nil {
		err = f.acquire(request)
	}
	if err != nil {
		return nil, notAcquired(key, err)
	}
	f.grants.Add(1)
	g := Grant{
		Key: key, Asked: time.Now(), Lease: f.lease, Renewed: request.Lease == nil, Watch: f.watch,
		Token: f.token, Tokens: request.Tokens,
		Renew: func(ctx context.Context) error {
			f.renewals.Add(1)
			if f.renew == nil {
				return nil
			}
			return f.renew(ctx)
		},
		Release: func(ctx context.Context) (int, error) {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			f.releases.Add(1)
			return f.others, f.release
		},
	}
	if request.Lease != nil {
		g.Lease = *request.Lease
	}
	if f.answers != nil {
		f.answers()
	}
	lease, err := f.Sessions.Lease(ctx, request, g)
	if err != nil {
		return nil, notAcquired(key, err)
	}
	return lease, nil
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
