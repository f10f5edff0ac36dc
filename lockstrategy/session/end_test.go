package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest/bubble"
	"locklab/lockstrategy/session"
)

// The server may grant the key to another as soon as it executes the release. So the context ends before.
func TestSessionEndsItsContextBeforeItReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := session.NewKeeper()
		defer k.Close()
		var lease *lockstrategy.Lease
		ended := false
		lease, err := k.Keep(t.Context(), lockstrategy.Request{}, session.Grant{
			Key: "k", Asked: time.Now(), Expiry: time.Minute, Renewed: true,
			Owner: session.ReleaseFunc(func(context.Context) error { ended = lease.Context().Err() != nil; return nil }),
		})
		if err != nil {
			t.Fatal(err)
		}
		bubble.Release(t, lease)
		if !ended {
			t.Error("the key is given back, and the holder is not told before")
		}
	})
}

// A renewal without an answer is tried again after a twelfth of the lease, or after a second if that is less.
func TestSessionTriesAgainAfterASecond(t *testing.T) {
	for lease, want := range map[time.Duration]int32{
		30 * time.Second: 6, 1200 * time.Millisecond: 3, // after 10, 11 … 15 s, and 0.4, 0.5, 0.6 s
	} {
		synctest.Test(t, func(t *testing.T) {
			f := bubble.New(t, lease)
			f.OnRenew = func(context.Context) error { return lockstrategy.ErrUnavailable }
			held := bubble.Acquire(t, f, "k")
			time.Sleep(lease/2 + lease/60)
			if n := f.Renewals.Load(); n != want {
				t.Errorf("%d tries in the first half of a lease of %s, want %d", n, lease, want)
			}
			_ = held.Release(t.Context())
		})
	}
}

// A release that was not confirmed is repeated: until the lease and the clocks' drift are over, twice the lease at most. Some servers keep
// the key of a shorter lease for three seconds, so it is repeated for six at least. A lease without an end is released until that is
// confirmed.
func TestSessionRepeatsItsRelease(t *testing.T) {
	for lease, c := range map[time.Duration]struct{ lasts, most time.Duration }{
		time.Minute: {58 * time.Second, 2 * time.Minute}, 100 * time.Millisecond: {3 * time.Second, 6 * time.Second}, 0: {time.Hour, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := bubble.New(t, lease)
			f.ReleaseError = lockstrategy.ErrUnavailable
			held := bubble.Acquire(t, f, "k")
			if err := held.Release(t.Context()); !errors.Is(err, lockstrategy.ErrUnavailable) {
				t.Fatalf("got %v", err)
			}
			if err := held.Release(t.Context()); !errors.Is(err, lockstrategy.ErrNotHeld) {
				t.Fatalf("a second release: got %v, want ErrNotHeld", err)
			}
			time.Sleep(c.lasts)
			before := f.Releases.Load()
			time.Sleep(2*time.Second + time.Millisecond) // the longest pause
			if f.Releases.Load() == before || before < int32(min(c.lasts, time.Minute)/(2*time.Second)) {
				t.Errorf("a lease of %s: %d releases in %s, and %d later", lease, before, c.lasts, f.Releases.Load()-before)
			}
			if c.most > 0 {
				time.Sleep(c.most - c.lasts)
				before = f.Releases.Load()
				if time.Sleep(time.Hour); f.Releases.Load() != before {
					t.Errorf("a lease of %s: it is repeated after %s", lease, c.most)
				}
			}
		})
	}
}
