package handlers_test

import (
	"context"
	"sync"
	"time"

	"locklab/order"
	"locklab/pview"
)

// mutex guards a fake: call defer f.lock()() first.
type mutex struct{ mu sync.Mutex }

func (m *mutex) lock() (unlock func()) {
	m.mu.Lock()
	return m.mu.Unlock
}

// fakeViews is a counter in memory.
type fakeViews struct {
	mutex
	value, stale int64
	err          error                       // returned by every call, if set
	inside       func(context.Context) error // called by Increment while it holds the lock, if set
}

func (v *fakeViews) Increment(ctx context.Context, _ string, lock pview.Locker) (pview.View, error) {
	view := pview.View{Waited: waitTime, Held: holdTime}
	err := lock.Do(ctx, pview.LockKey, func(ctx context.Context, token uint64) (err error) {
		if v.inside != nil {
			if err := v.inside(ctx); err != nil {
				return err
			}
		}
		view.Token = token
		view.Value, err = v.add(1)
		return err
	})
	return view, err
}

func (v *fakeViews) IncrementAtomic(context.Context) (pview.View, error) {
	value, err := v.add(1)
	return pview.View{Value: value}, err
}

func (v *fakeViews) Get(context.Context) (int64, error) { return v.add(0) }

func (v *fakeViews) GetStale(context.Context) (int64, error) { return v.stale, v.err }

func (v *fakeViews) Set(_ context.Context, value int64) error {
	defer v.lock()()
	v.value = value
	return v.err
}

func (v *fakeViews) add(n int64) (int64, error) {
	defer v.lock()()
	v.value += n
	return v.value, v.err
}

// fakeOrders keeps orders in memory. Their ids count from 1.
type fakeOrders struct {
	mutex
	all      []order.Order
	attempts []order.Attempt
	err      error // returned by every call, if set
}

var noon = time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)

func (o *fakeOrders) Create(context.Context) (order.Order, error) {
	defer o.lock()()
	o.all = append(o.all, order.Order{ID: uint64(len(o.all) + 1), Status: order.Open})
	return o.all[len(o.all)-1], o.err
}

func (o *fakeOrders) Get(_ context.Context, id uint64) (order.Order, error) {
	defer o.lock()()
	switch {
	case o.err != nil:
		return order.Order{}, o.err
	case id > uint64(len(o.all)):
		return order.Order{}, order.ErrNotFound
	}
	return o.all[id-1], nil
}

func (o *fakeOrders) Grab(ctx context.Context, lock order.Locker, a order.Attempt) (order.Result, error) {
	var result order.Result
	err := lock.Do(ctx, order.LockKey(a.OrderID), func(_ context.Context, token uint64) (err error) {
		result, err = o.grab(a, token)
		result.Waited, result.Held, result.Token = waitTime, holdTime, token
		return err
	})
	return result, err
}

func (o *fakeOrders) GrabAtomic(_ context.Context, a order.Attempt) (order.Result, error) {
	return o.grab(a, 0)
}

func (o *fakeOrders) grab(a order.Attempt, token uint64) (order.Result, error) {
	defer o.lock()()
	o.attempts = append(o.attempts, a)
	switch {
	case o.err != nil:
		return order.Result{}, o.err
	case a.OrderID > uint64(len(o.all)):
		return order.Result{}, order.ErrNotFound
	}
	stored := &o.all[a.OrderID-1]
	if stored.Status == order.Open {
		stored.Status, stored.Driver = order.Granted, a.Driver
		stored.Wins = append(stored.Wins, order.Win{Driver: a.Driver, Version: a.Version, Instance: a.Instance, Token: token, At: noon})
		return order.Result{Won: true, Winner: a.Driver}, nil
	}
	won := stored.Driver == a.Driver
	return order.Result{Won: won, AlreadyWon: won, Winner: stored.Driver}, nil
}
