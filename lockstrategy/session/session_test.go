package session_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/lockstrategy/session"
)

// Time in these tests is that of a synctest bubble: a Sleep there is the subject and takes none.

// drift is how much earlier a lease of half a minute ends than the server's: one per cent and a millisecond.
const drift = 301 * time.Millisecond

func TestSessionRenewsAtAThird(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, 30*time.Second)
		lease := bubble.Acquire(t, f, "k")
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if f.Renewals.Load() != 60 || lease.Context().Err() != nil {
			t.Fatalf("%d renewals in ten minutes, want 60; context: %v", f.Renewals.Load(), lease.Context().Err())
		}
		bubble.Release(t, lease)
		time.Sleep(time.Minute)
		synctest.Wait()
		if f.Renewals.Load() != 60 {
			t.Fatal("a released lease is still renewed")
		}
		if cause := context.Cause(lease.Context()); !errors.Is(cause, context.Canceled) || errors.Is(cause, lockstrategy.ErrLost) {
			t.Fatalf("a released lease ends with %v", cause)
		}
	})
}

// How long a lease lives and why it is lost, by its options and by what the server does.
func TestSessionEnds(t *testing.T) {
	readOnly := errors.New("READONLY")
	away := func(context.Context) error { return readOnly }
	gone := func(context.Context) error { return lockstrategy.ErrGone }
	hanging := func(context.Context) error { time.Sleep(time.Hour); return nil }
	for _, c := range []struct {
		name    string
		options []lockstrategy.Option
		renew   func(context.Context) error
		lives   time.Duration
		cause   error
	}{
		{"the server is away", nil, away, 30*time.Second - drift, readOnly}, // its answer is in the cause
		{
			"the server is away, renewed for an hour at most",
			[]lockstrategy.Option{lockstrategy.RenewAtMost(time.Hour)},
			away,
			30*time.Second - drift, lockstrategy.ErrUnreachable,
		},
		{
			"the server is away, renewed for twenty seconds at most",
			[]lockstrategy.Option{lockstrategy.RenewAtMost(20 * time.Second)},
			away, 20 * time.Second, lockstrategy.ErrExpired,
		},
		{"renewed for an hour at most", []lockstrategy.Option{lockstrategy.RenewAtMost(time.Hour)}, nil, time.Hour, lockstrategy.ErrExpired},
		{"renewed for a second at most", []lockstrategy.Option{lockstrategy.RenewAtMost(time.Second)}, nil, time.Second, lockstrategy.ErrExpired},
		{"not renewed", []lockstrategy.Option{lockstrategy.LeaseFor(30 * time.Second)}, nil, 30*time.Second - drift, lockstrategy.ErrExpired},
		{
			"not renewed, and bounded to less",
			[]lockstrategy.Option{lockstrategy.LeaseFor(30 * time.Second), lockstrategy.RenewAtMost(20 * time.Second)},
			nil, 20 * time.Second, lockstrategy.ErrExpired,
		},
		{"the server says that it is gone", nil, gone, 10 * time.Second, lockstrategy.ErrGone},
		{"a renewal hangs", nil, hanging, 30*time.Second - drift, lockstrategy.ErrUnreachable},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := bubble.New(t, 30*time.Second)
				f.OnRenew = c.renew
				began := time.Now()
				lease := bubble.Acquire(t, f, "k", c.options...)
				<-lease.Context().Done()
				if cause := context.Cause(lease.Context()); !errors.Is(cause, c.cause) || time.Since(began) != c.lives {
					t.Errorf("after %s it was lost with %v, want %s and %v", time.Since(began), cause, c.lives, c.cause)
				}
				if err := lease.Release(t.Context()); !errors.Is(err, c.cause) {
					t.Errorf("its release returned %v, want %v", err, c.cause)
				}
				synctest.Wait()
				if f.Releases.Load() != 1 {
					t.Errorf("the server was asked %d times to free what may still be there", f.Releases.Load())
				}
				time.Sleep(2 * time.Hour) // until a renewal that hangs has ended
			})
		})
	}
}

// Answers that take nearly half of a lease cost none.
func TestSessionSurvivesSlowAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, 30*time.Second)
		f.OnRenew = func(context.Context) error { time.Sleep(14 * time.Second); return nil }
		lease := bubble.Acquire(t, f, "k")
		time.Sleep(time.Hour)
		if err := context.Cause(lease.Context()); err != nil {
			t.Errorf("each renewal was answered, and it was lost with %v", err)
		}
		bubble.Release(t, lease)
		time.Sleep(time.Minute) // until the last answer
	})
}

// A renewal that was executed before a forced unlock may be answered after its message. The loss is a forced one.
func TestSessionKnowsAForcedUnlockWhateverIsAnsweredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, 30*time.Second)
		var received func(bool)
		f.OnWatch = func(h func(bool)) func() { received = h; return func() {} }
		f.OnRenew = func(context.Context) error {
			if f.Renewals.Load() == 1 { // executed before
				time.Sleep(2 * time.Second)
				return nil
			}
			time.Sleep(3 * time.Second)
			return lockstrategy.ErrGone
		}
		lease := bubble.Acquire(t, f, "k")
		time.Sleep(11 * time.Second) // the first renewal is under way
		synctest.Wait()
		received(true)
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrForced) {
			t.Errorf("it was lost with %v, want ErrForced", cause)
		}
		_ = lease.Release(t.Context())
	})
}

// The session receives a hint that the lock is gone, and the server does not answer its question: it asks again.
func TestSessionAsksUntilItIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, 0)
		var received func(bool)
		f.OnWatch = func(h func(bool)) func() { received = h; return func() {} }
		f.OnRenew = func(context.Context) error {
			if f.Renewals.Load() < 3 {
				return lockstrategy.ErrUnavailable
			}
			return lockstrategy.ErrGone
		}
		lease := bubble.Acquire(t, f, "k", lockstrategy.LeaseFor(time.Hour))
		time.Sleep(4 * time.Second) // it listens
		synctest.Wait()
		began := time.Now()
		received(true)
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrForced) || time.Since(began) > 10*time.Second {
			t.Errorf("after %s it was lost with %v, want ErrForced soon", time.Since(began), cause)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, lockstrategy.ErrForced) {
			t.Errorf("its release returned %v", err)
		}
	})
}

// The message of a release was a hint: the server still has the lock. A later loss is no forced unlock.
func TestSessionForgetsAHintThatWasWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Minute)
		var gone atomic.Bool
		f.OnRenew = func(context.Context) error {
			if gone.Load() {
				return lockstrategy.ErrGone
			}
			return nil
		}
		var received func(bool)
		listens := false
		f.OnWatch = func(h func(bool)) func() {
			received, listens = h, true
			return func() { listens = false }
		}
		lease := bubble.Acquire(t, f, "k")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		received(true)
		synctest.Wait()
		if lease.Context().Err() != nil || f.Renewals.Load() != 1 {
			t.Fatalf("%d renewals; the context: %v", f.Renewals.Load(), lease.Context().Err())
		}
		gone.Store(true)
		<-lease.Context().Done()
		synctest.Wait()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrGone) || errors.Is(cause, lockstrategy.ErrForced) {
			t.Errorf("it was lost with %v, want ErrGone", cause)
		}
		_ = lease.Release(t.Context())
		if listens {
			t.Error("the session is over, and it listens")
		}
	})
}

// An answer that takes its time takes it from the lease: at the grant, and at each renewal.
func TestSessionCountsFromBeforeItAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, slow := bubble.New(t, 30*time.Second), 5*time.Second
		f.OnRenew = func(context.Context) error { time.Sleep(slow); return nil }
		asked := time.Now()
		f.OnGrant = func() { time.Sleep(slow) }
		lease := bubble.Acquire(t, f, "k")
		if want := asked.Add(30*time.Second - drift); !lease.Until().Equal(want) {
			t.Errorf("it ends %s later than counted from before it was asked for", lease.Until().Sub(want))
		}
		time.Sleep(10*time.Second - slow) // the renewal is asked for
		asked = time.Now()
		time.Sleep(slow + 1)
		synctest.Wait()
		if want := asked.Add(30*time.Second - drift); !lease.Until().Equal(want) {
			t.Errorf("renewed, it ends %s later than counted from before it was asked for", lease.Until().Sub(want))
		}
		bubble.Release(t, lease)
	})
}

// An acquire without an answer may arrive after a release that did not find the key. So that is repeated until the key was found, or cannot
// arrive any more.
func TestAGrantWithoutAnAnswerIsReleasedAgain(t *testing.T) {
	for _, c := range []struct {
		unanswered bool
		arrives    time.Duration
		stops      time.Duration // after two leases, or soon after the arrival
	}{
		{false, time.Hour, 0}, {true, time.Hour, 2 * time.Minute}, {true, 20 * time.Second, 22 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			k, began, last := session.NewKeeper(), time.Now(), time.Duration(0)
			k.GiveBack(session.Grant{
				Key: "k", Expiry: time.Minute, Unanswered: c.unanswered,
				Owner: session.ReleaseFunc(func(context.Context) error {
					if last = time.Since(began); last < c.arrives {
						return lockstrategy.ErrGone
					}
					return nil
				}),
			})
			time.Sleep(time.Hour / 2)
			synctest.Wait()
			if last > c.stops || last < c.stops-2*time.Second {
				t.Errorf("%+v: the last release was sent after %s", c, last)
			}
			k.Close()
		})
	}
}

// A grant whose answer took longer than its lease is none: the key may be another's by now. The model check found it.
func TestSessionThatIsOverIsNotGranted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, time.Millisecond) // of which the drift leaves nothing
		if lease, err := f.Acquire(t.Context(), "k"); !errors.Is(err, lockstrategy.ErrExpired) || lease != nil {
			t.Fatalf("got a lease (%v) whose time is over: %v", lease, err)
		}
		synctest.Wait()
		if f.Releases.Load() != 1 {
			t.Fatal("the server was not asked to free what may still be there")
		}
	})
}
