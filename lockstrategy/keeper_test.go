package lockstrategy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A message that comes while a try is under way leads to one more try, immediately.
func TestAMessageDuringATryIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, wake, tries, began := NewKeeper(), make(chan struct{}, 1), 0, time.Now()
		defer k.Close()
		_, err := k.Acquire(t.Context(), "k", Request{}, wake, func(context.Context) (*Grant, time.Duration, error) {
			if tries++; tries == 1 {
				Wake(wake)
				return nil, time.Hour, OtherHolder{}
			}
			return nil, 0, ErrUnavailable
		})
		if !errors.Is(err, ErrUnavailable) || tries != 2 || time.Since(began) != 0 {
			t.Errorf("after %s and %d tries: %v", time.Since(began), tries, err)
		}
	})
}

// A caller whose wait ends is told what is left of the other's lease then.
func TestACallerIsToldWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, other, wait := NewKeeper(), OtherHolder{}, time.Second
		defer k.Close()
		_, err := k.Acquire(t.Context(), "k", Request{Wait: &wait}, nil, func(context.Context) (*Grant, time.Duration, error) {
			return nil, time.Hour, OtherHolder{Left: 3 * time.Second}
		})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &other) || other.Left != 2*time.Second {
			t.Errorf("it is told %v", err)
		}
	})
}
