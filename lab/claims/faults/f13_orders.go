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
		o := newOperator(ctx, t, servers)
		store, err := order.OpenStore(ctx, services.SQLite(t, "orders.db"))
		t.Must(err)
		t.Cleanup(store.Close)
		a := driversAt(ctx, t, "A", servers.At(o.master.AnnouncedAddr()), checks)
		var ids []uint64
		for range a {
			created, err := store.Create(ctx)
			t.Must(err)
			ids = append(ids, created.ID)
		}
		answered := make(chan struct{}) // when B's drivers are
		var wait func()
		o.promoted = func() { wait = beginGrabs(ctx, t, a, store, ids, answered) }
		replace(ctx, o)
		for i, d := range driversAt(ctx, t, "B", servers, checks) {
			d.grab(ctx, store, ids[i])
		}
		close(answered)
		wait()
		two := recordWinners(ctx, t, store, ids)
		t.Must(shown(t, a, two, granted))
		o.end()
	}
}

// beginGrabs lets drivers grab an order each. It returns when each has read, or is answered. They write when answered is closed.
func beginGrabs(
	ctx context.Context, t *lab.Trial, drivers []*driver, store *order.Store, ids []uint64, answered chan struct{},
) (wait func()) {
	var thinking sync.WaitGroup
	thinking.Add(len(drivers))
	wait = t.GoEach(len(drivers), func(i int) {
		thinks := sync.OnceFunc(thinking.Done)
		defer thinks()
		slow := store.WithThink(func(ctx context.Context) error {
			thinks()
			select {
			case <-answered:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		drivers[i].grab(ctx, slow, ids[i])
	})
	thinking.Wait()
	return wait
}

// driver makes one attempt to grab an order at an instance.
type driver struct {
	lock     clients.RecordedGuard
	number   uint64
	instance string
	checks   bool // the database checks the fencing token

	granted, stale bool // the lock was granted; the database refused the write
}

// driversAt are the drivers at an instance, one for each order, who share its lock.
func driversAt(ctx context.Context, t *lab.Trial, instance string, servers *servers.Topology, checks bool) []*driver {
	c := clients.RedisLock(t, instance, clients.Connect(ctx, t, servers), clients.LongLease)
	all := make([]*driver, contested)
	for i := range all {
		number := uint64(i + 1)
		if instance == "B" {
			number += contested
		}
		guard := clients.RecordedGuard{Guard: lockstrategy.Guard{Strategy: c.Lock, Once: true}, Trial: t, Name: driverName(number, instance)}
		all[i] = &driver{lock: guard, number: number, instance: instance, checks: checks}
	}
	return all
}

func driverName(number uint64, instance string) string {
	return fmt.Sprintf("driver %d at %s", number, instance)
}

// grab grabs an order, and records a refusal.
func (d *driver) grab(ctx context.Context, store *order.Store, id uint64) {
	_, err := store.Grab(ctx, d, order.Attempt{OrderID: id, Driver: d.number, Version: "v3", Instance: d.instance})
	e := history.Event{Timeline: d.lock.Name, Owner: d.lock.Name, Kind: history.Refuse, Key: order.LockKey(id)}
	if d.stale = errors.Is(err, order.ErrStale); d.stale {
		e.Kind = history.Stale
	} else if err != nil {
		e.Text = err.Error()
	}
	if err != nil {
		d.lock.Trial.Record(e)
	}
}

// Do is that of the Redis lock. Where the database does not check the token, it is not told the token.
func (d *driver) Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error {
	return d.lock.Do(ctx, key, func(ctx context.Context, token uint64) error {
		d.granted = true
		if !d.checks {
			token = 0
		}
		return fn(ctx, token)
	})
}

// recordWinners records the winners of each order, as the database says, and returns how many orders have two.
func recordWinners(ctx context.Context, t *lab.Trial, store *order.Store, ids []uint64) (two int) {
	for _, id := range ids {
		stored, err := store.Get(ctx, id)
		t.Must(err)
		if len(stored.Wins) == 0 {
			t.Must(fmt.Errorf("order %d has no winner", id))
		}
		if len(stored.Wins) > 1 {
			two++
		}
		for _, w := range stored.Wins {
			name := driverName(w.Driver, w.Instance)
			t.Record(history.Event{
				Timeline: name, Owner: name, Kind: history.Win, Key: order.LockKey(id), Token: w.Token, Name: w.Instance, Text: "by " + w.Instance,
			})
		}
	}
	t.Measure("v3", int64(two), twoWinners)
	return two
}

// shown is an error unless the orders with two winners, or the drivers at A, show that the lock was lost or kept. That many of these must
// have been granted one, and a database that checks tokens must have refused them.
func shown(t *lab.Trial, atA []*driver, two, want int) error {
	granted, refused := 0, 0
	for _, d := range atA {
		if d.granted {
			granted++
		}
		if d.stale {
			refused++
		}
	}
	t.Measure("v3", int64(refused), refusedOf8)
	if two == 0 && (granted != want || atA[0].checks && refused != want) {
		return fmt.Errorf("%d drivers at A were granted a lock, not %d; %d were refused by the database", granted, want, refused)
	}
	return nil
}
