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

// The cause of a loss has the server's error for the last renewal.
func TestSessionSaysWhyNothingWasConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, readOnly := bubble.New(t, 30*time.Second), errors.New("READONLY")
		f.OnRenew = func(context.Context) error { return readOnly }
		lease := bubble.Acquire(t, f, "k")
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrUnreachable) || !errors.Is(cause, readOnly) {
			t.Errorf("it was lost with %v, want the server's answer in it", cause)
		}
		_ = lease.Release(t.Context())
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

// Some servers keep a key for three seconds at least. A release of a lease that is shorter is repeated for six.
func TestSessionRepeatsItsReleaseOfAShortLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bubble.New(t, 100*time.Millisecond)
		f.ReleaseError = lockstrategy.ErrUnavailable
		_ = bubble.Acquire(t, f, "k").Release(t.Context())
		var counts [3]int32
		for i, after := range []time.Duration{time.Second, 3 * time.Second, 10 * time.Second} {
			time.Sleep(after)
			counts[i] = f.Releases.Load()
		}
		if counts[1] == counts[0] {
			t.Errorf("after one second %d releases, and after four no more", counts[0])
		}
		time.Sleep(time.Minute)
		if n := f.Releases.Load(); n != counts[2] {
			t.Errorf("%d releases after 14 s, and %d a minute later", counts[2], n)
		}
	})
}
