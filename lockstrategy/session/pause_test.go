package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lockstrategy"
)

// A holder that did not run when it should have renewed has no server to blame.
func TestSessionOfAHolderThatDidNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewKeeper()
		defer k.Close()
		lease, err := k.Keep(t.Context(), lockstrategy.Request{}, Grant{
			Key: "k", Asked: time.Now(), Expiry: time.Minute, Renewed: true, Owner: ReleaseFunc(func(context.Context) error { return nil }),
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute / 2) // it was renewed once
		synctest.Wait()
		s := lease.Holder().(*session)
		s.mu.Lock()
		s.until = time.Now()
		s.mu.Unlock()
		s.notify(false) // it runs again, much too late
		synctest.Wait()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrExpired) || errors.Is(cause, lockstrategy.ErrUnreachable) {
			t.Errorf("it was lost with %v, want ErrExpired alone", cause)
		}
		_ = lease.Release(t.Context())
	})
}
