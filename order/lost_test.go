package order_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/lab/testenv"
	"locklab/order"
)

var errLost = errors.New("the lock is lost")

// wantOpenAndLockLost fails unless the error says that the lock was lost, and the order is still open.
func wantOpenAndLockLost(t *testing.T, s *order.Store, id uint64, result order.Result, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errLost) || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("got %v, want context.Canceled and the cause, and not ErrUnavailable", err)
	}
	if o := getOrder(t, s, id); result.Won || o.Status != order.Open || o.Driver != 0 || len(o.Wins) != 0 {
		t.Errorf("the result is %+v, and the order is %+v", result, o)
	}
}

// Time in the bubble only passes while every goroutine waits. So after a minute the order has been read, and the driver thinks.
func testLockLostWhileThinking(t *testing.T, database newDatabase) {
	where := database(t)
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, where, time.Hour)
		id := createOrder(t, s)
		start := time.Now()
		result, err := s.Grab(t.Context(), testenv.LockerFunc(func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
			ctx, lose := context.WithCancelCause(ctx)
			defer time.AfterFunc(time.Minute, func() { lose(errLost) }).Stop()
			return fn(ctx, 1)
		}), order.Attempt{OrderID: id, Driver: 1})
		wantOpenAndLockLost(t, s, id, result, err)
		if thought := time.Since(start); thought != time.Minute {
			t.Errorf("the driver thought for %s, want 1m", thought)
		}
	})
}

func testLockLostBeforeRead(t *testing.T, database newDatabase) {
	s := openStore(t, database(t), 0)
	id := createOrder(t, s)
	result, err := s.Grab(t.Context(), testenv.LockerFunc(func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
		ctx, lose := context.WithCancelCause(ctx)
		lose(errLost)
		return fn(ctx, 1)
	}), order.Attempt{OrderID: id, Driver: 1})
	wantOpenAndLockLost(t, s, id, result, err)
}

func testNotGranted(t *testing.T, database newDatabase) {
	s := openStore(t, database(t), 0)
	id := createOrder(t, s)
	errBusy := errors.New("busy")
	result, err := s.Grab(t.Context(), testenv.LockerFunc(func(context.Context, string, func(context.Context, uint64) error) error {
		return errBusy
	}), order.Attempt{OrderID: id, Driver: 1})
	if !errors.Is(err, errBusy) || errors.Is(err, order.ErrUnavailable) || result.Won {
		t.Errorf("got %+v, %v, want the locker's error", result, err)
	}
	if o := getOrder(t, s, id); o.Status != order.Open {
		t.Errorf("the order is %+v", o)
	}
}
