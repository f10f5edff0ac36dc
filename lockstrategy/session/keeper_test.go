package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/session"
)

// A message that comes while a try is under way leads to one more try, immediately.
func TestAMessageDuringATryIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, wake, tries, began := session.NewKeeper(), make(chan struct{}, 1), 0, time.Now()
		defer k.Close()
		_, err := k.Acquire(t.Context(), "k", lockstrategy.Request{}, wake, func(context.Context) (*session.Grant, time.Duration, error) {
			if tries++; tries == 1 {
				session.Wake(wake)
				return nil, time.Hour, lockstrategy.OtherHolder{}
			}
			return nil, 0, lockstrategy.ErrUnavailable
		})
		if !errors.Is(err, lockstrategy.ErrUnavailable) || tries != 2 || time.Since(began) != 0 {
			t.Errorf("after %s and %d tries: %v", time.Since(began), tries, err)
		}
	})
}

// A caller whose wait ends is told what is left of the other's lease then.
func TestACallerIsToldWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, other, wait := session.NewKeeper(), lockstrategy.OtherHolder{}, time.Second
		defer k.Close()
		refused := func(context.Context) (*session.Grant, time.Duration, error) {
			return nil, time.Hour, lockstrategy.OtherHolder{Left: 3 * time.Second}
		}
		_, err := k.Acquire(t.Context(), "k", lockstrategy.Request{Wait: &wait}, nil, refused)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &other) || other.Left != 2*time.Second {
			t.Errorf("it is told %v", err)
		}
	})
}

// A caller is told of the last refusal only: the server executes requests again, and another has the key.
func TestARefusalIsForgottenAtTheNextTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, wait, tries := session.NewKeeper(), time.Second, 0
		defer k.Close()
		refused := func(context.Context) (*session.Grant, time.Duration, error) {
			if tries++; tries == 1 {
				return nil, time.Millisecond, lockstrategy.ErrUnavailable
			}
			return nil, time.Hour, lockstrategy.OtherHolder{}
		}
		_, err := k.Acquire(t.Context(), "k", lockstrategy.Request{Wait: &wait}, nil, refused)
		if errors.Is(err, lockstrategy.ErrUnavailable) || !errors.As(err, new(lockstrategy.OtherHolder)) {
			t.Errorf("it is told %v", err)
		}
	})
}
