package handlers_test

import (
	"context"
	"sync"
	"time"

	"locklab/order"
	"locklab/pview"
)

// mutex guards a fake: defer f.lock()().
type mutex struct{ mu sync.Mutex }

func (m *mutex) lock() (unlock func()) {
	m.mu.Lock()
	return m.mu.Unlock
}

// views is a counter in memory.
type views struct {
	mutex
	value, stale int64
	err          error                       // every call's, if set
	inside       func(context.Context) error // runs under the version's lock, if set
}

func (v *views) Increment(ctx context.Context, _ string, lock pview.Locker) (pview.View, error) {
	view := pview.View{Waited: waited, Held: held}
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

func (v *views) IncrementAtomic(context.Context) (pview.View, error) {
	value, err := v.add(1)
	return pview.View{Value: value}, err
}

func (v *views) Get(context.Context) (int64, error) { return v.add(0) }

func (v *views) GetStale(context.Context) (int64, error) { return v.stale, v.err }

func (v *views) Set(_ context.Context, value int64) error {
	defer v.lock()()
	v.value = value
	return v.err
}

func (v *views) add(n int64) (int64, error) {
	defer v.lock()()
	v.value += n
	return v.value, v.err
}

// orders keeps orders in memory; their ids count from 1.
type orders struct {
	mutex
	all      []order.Order
	attempts []order.Attempt
	err      error // every call's, if set
}

var noon = time.Date(2024, 5, 6, 12, 0, 0, 0, time.UTC)

func (o *orders) Create(context.Context) (order.Order, error) {
	defer o.lock()()
	o.all = append(o.all, order.Order{ID: uint64(len(o.all) + 1), Status: order.Open})
	return o.all[len(o.all)-1], o.err
}

func (o *orders) Get(_ context.Context, id uint64) (order.Order, error) {
	defer o.lock()()
	switch {
	case o.err != nil:
		return order.Order{}, o.err
	case id > uint64(len(o.all)):
		return order.Order{}, order.ErrNotFound
	}
	return o.all[id-1], nil
}

func (o *orders) Grab(ctx context.Context, lock order.Locker, a order.Attempt) (order.Result, error) {
	var result order.Result
	err := lock.Do(ctx, order.LockKey(a.OrderID), func(_ context.Context, token uint64) (err error) {
		result, err = o.grab(a, token)
		result.Waited, result.Held, result.Token = waited, held, token
		return err
	})
	return result, err
}

func (o *orders) GrabAtomic(_ context.Context, a order.Attempt) (order.Result, error) {
	return o.grab(a, 0)
}

func (o *orders) grab(a order.Attempt, token uint64) (order.Result, error) {
	defer o.lock()()
	o.attempts = append(o.attempts, a)
	switch {
	case o.err != nil:
		return order.Result{}, o.err
	case a.OrderID > uint64(len(o.all)):
		return order.Result{}, order.ErrNotFound
	}
	wanted := &o.all[a.OrderID-1]
	if wanted.Status == order.Open {
		wanted.Status, wanted.Driver = order.Granted, a.Driver
		wanted.Wins = append(wanted.Wins, order.Win{Driver: a.Driver, Version: a.Version, Instance: a.Instance, Token: token, At: noon})
		return order.Result{Won: true, Winner: a.Driver}, nil
	}
	again := wanted.Driver == a.Driver
	return order.Result{Won: again, Again: again, Winner: wanted.Driver}, nil
}
