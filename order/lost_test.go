package order_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/internal/testenv"
	"locklab/order"
)

var errLost = errors.New("the lock is lost")

// untouched fails unless the error tells how the lock was lost and the order is as it was.
func untouched(t *testing.T, s *order.Store, id uint64, result order.Result, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errLost) || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("got %v, want context.Canceled and the cause, and not ErrUnavailable", err)
	}
	if o := get(t, s, id); result.Won || o.Status != order.Open || o.Driver != 0 || len(o.Wins) != 0 {
		t.Errorf("it was told %+v and the order is %+v", result, o)
	}
}

// In the bubble time passes only while everybody waits for it. After a minute of it the order has been read, and the
// driver thinks.
func testLostWhileThinking(t *testing.T, database fresh) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, where, time.Hour)
		id := create(t, s)
		start := time.Now()
		result, err := s.Grab(t.Context(), testenv.LockerFunc(func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
			ctx, lose := context.WithCancelCause(ctx)
			defer time.AfterFunc(time.Minute, func() { lose(errLost) }).Stop()
			return fn(ctx, 1)
		}), order.Attempt{OrderID: id, Driver: 1})
		untouched(t, s, id, result, err)
		if thought := time.Since(start); thought != time.Minute {
			t.Errorf("it thought for %s", thought)
		}
	})
}

func testLostAtOnce(t *testing.T, database fresh) {
	s := open(t, database(t), 0)
	id := create(t, s)
	result, err := s.Grab(t.Context(), testenv.LockerFunc(func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
		ctx, lose := context.WithCancelCause(ctx)
		lose(errLost)
		return fn(ctx, 1)
	}), order.Attempt{OrderID: id, Driver: 1})
	untouched(t, s, id, result, err)
}

func testNotGranted(t *testing.T, database fresh) {
	s := open(t, database(t), 0)
	id := create(t, s)
	errBusy := errors.New("busy")
	result, err := s.Grab(t.Context(), testenv.LockerFunc(func(context.Context, string, func(context.Context, uint64) error) error {
		return errBusy
	}), order.Attempt{OrderID: id, Driver: 1})
	if !errors.Is(err, errBusy) || errors.Is(err, order.ErrUnavailable) || result.Won {
		t.Errorf("got %+v, %v, want the locker's error", result, err)
	}
	if o := get(t, s, id); o.Status != order.Open {
		t.Errorf("the order is %+v", o)
	}
}
