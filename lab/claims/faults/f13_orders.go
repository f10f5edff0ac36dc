package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/topology"
)

const contested = 8 // orders that a driver at each instance wants

var (
	twoWinners = lab.Count.Of("orders with two winners, of 8")
	refusedOf8 = lab.Count.Of("drivers whose write was refused, of 8")
)

// ordersDuring lets A's drivers request orders when a replica is a master, and B's drivers request them when clients are told that. A is
// connected to the old master. Its drivers read, and write when those of B are answered. granted is how many of them are granted a lock.
func ordersDuring(replace maintenance, granted int, checks bool) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		servers, err := t.Stack.Topology(ctx, string(topology.Sentinel), t.Real)
		t.Must(err)
		old, err := servers.MasterOf(ctx, clients.LockKey)
		t.Must(err)
		x := openOrders(ctx, t, checks)
		a := x.guard(ctx, "A", servers.At(old.AnnouncedAddr()))
		answered := make(chan struct{}) // when B's drivers are
		untilB := func(ctx context.Context) error {
			select {
			case <-answered:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		var came []*driver // at A
		var wait func()
		_, end := replace.replace(ctx, t, servers, func() {
			arrived := make(chan struct{}, len(x.ids)) // drivers who think, or are answered
			wait = t.Go(func() { came = x.grab(ctx, "A", a, untilB, func() { arrived <- struct{}{} }) })
			for range x.ids {
				select {
				case <-arrived:
				case <-ctx.Done():
					t.Must(context.Cause(ctx))
				}
			}
		})
		x.grab(ctx, "B", x.guard(ctx, "B", servers), func(context.Context) error { return nil }, func() {})
		close(answered)
		wait()
		t.Must(x.recordWinners(ctx, came, granted))
		end()
	}
}

// orders are in a database, and drivers at two instances want them.
type orders struct {
	*lab.Trial
	store  *order.Store
	ids    []uint64
	checks bool // the database checks the fencing token
}

func openOrders(ctx context.Context, t *lab.Trial, checks bool) *orders {
	store, err := order.OpenStore(ctx, services.SQLite(t, "orders.db"))
	t.Must(err)
	t.Cleanup(store.Close)
	x := &orders{Trial: t, store: store, checks: checks && !t.Unchecked()}
	for range contested {
		o, err := store.Create(ctx)
		t.Must(err)
		x.ids = append(x.ids, o.ID)
	}
	return x
}

// guard is the Redis lock of an instance, which makes one attempt for each driver.
func (x *orders) guard(ctx context.Context, name string, servers *servers.Topology) lockstrategy.Guard {
	c := clients.RedisLock(x.Trial, name, clients.Connect(ctx, x.Trial, servers), clients.LongLease)
	return lockstrategy.Guard{Strategy: c.Lock, Once: true}
}

// grab lets a driver for each order grab it at an instance, simultaneously. Each thinks between reading and writing. It has arrived when it
// begins to, or is answered.
func (x *orders) grab(
	ctx context.Context, name string, guard lockstrategy.Guard, think func(context.Context) error, arrived func(),
) (drivers []*driver) {
	var all sync.WaitGroup
	for i, id := range x.ids {
		number := uint64(i + 1)
		if name == "B" {
			number += contested
		}
		d := &driver{orders: x, name: driverName(number, name), guard: guard}
		drivers = append(drivers, d)
		all.Go(func() {
			arrived := sync.OnceFunc(arrived)
			defer arrived()
			store := x.store.WithThink(func(ctx context.Context) error {
				arrived()
				return think(ctx)
			})
			result, err := store.Grab(ctx, d, order.Attempt{OrderID: id, Driver: number, Version: "v3", Instance: name})
			d.told(order.LockKey(id), result, err)
		})
	}
	all.Wait()
	return drivers
}

func driverName(number uint64, instance string) string {
	return fmt.Sprintf("driver %d at %s", number, instance)
}

// driver has the lock of an instance, and records what happens.
type driver struct {
	*orders
	name  string
	guard lockstrategy.Guard
	token uint64

	granted, stale bool // the lock was granted; the database refused the write
}

func (d *driver) record(kind history.Kind, key, text string) {
	d.Record(history.Event{Timeline: d.name, Owner: d.name, Kind: kind, Key: key, Token: d.token, Text: text})
}

// Do is that of the Redis lock. Where the database does not check the token, it is not told the token.
func (d *driver) Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error {
	d.record(history.Request, key, "")
	return d.guard.Do(ctx, key, func(ctx context.Context, token uint64) error {
		d.granted, d.token = true, token
		d.record(history.Grant, key, "")
		defer d.record(history.Release, key, "")
		if !d.checks {
			token = 0
		}
		return fn(ctx, token)
	})
}

// told records the answer.
func (d *driver) told(key string, result order.Result, err error) {
	switch d.stale = errors.Is(err, order.ErrStale); {
	case d.stale:
		d.record(history.Stale, key, "")
	case err != nil:
		d.record(history.Refuse, key, err.Error())
	case result.Won:
		d.record(history.Note, key, "you have it")
	default:
		d.record(history.Note, key, fmt.Sprintf("driver %d has it", result.Winner))
	}
}

// recordWinners records the winners of each order, as the database says, and counts. Without two winners of an order something else must
// show that the lock was lost, or kept. So many drivers at A must have been granted one, and a database that checks tokens must have
// refused them. Otherwise it is an error, because nothing is shown.
func (x *orders) recordWinners(ctx context.Context, atA []*driver, granted int) error {
	two, grants, refused := 0, 0, 0
	for _, id := range x.ids {
		stored, err := x.store.Get(ctx, id)
		x.Must(err)
		if len(stored.Wins) == 0 {
			x.Must(fmt.Errorf("order %d has no winner", id))
		}
		if len(stored.Wins) > 1 {
			two++
		}
		for _, w := range stored.Wins {
			name := driverName(w.Driver, w.Instance)
			x.Record(history.Event{
				Timeline: name, Owner: name, Kind: history.Win, Key: order.LockKey(id), Token: w.Token, Name: w.Instance, Text: "by " + w.Instance,
			})
		}
	}
	for _, d := range atA {
		if d.granted {
			grants++
		}
		if d.stale {
			refused++
		}
	}
	x.Measure("v3", int64(two), twoWinners)
	x.Measure("v3", int64(refused), refusedOf8)
	if two == 0 && (grants != granted || x.checks && refused != granted) {
		return fmt.Errorf("%d drivers at A were granted a lock, not %d; %d were refused by the database", grants, granted, refused)
	}
	return nil
}
