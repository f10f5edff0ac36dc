package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/stack"
	"locklab/topology"
)

const contested = 8 // orders that a driver at each instance wants

var (
	twoWinners = experiments.Count.Of("orders with two winners, of 8")
	refusedOf8 = experiments.Count.Of("drivers whose write was refused, of 8")
)

// ordersDuring lets A's drivers request orders when a replica is a master, and B's drivers request them when clients are told that. A is
// connected to the old master. It reads, and writes when B's drivers are answered.
func ordersDuring(replace maintenance, checks bool) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		servers, err := t.Stack.Topology(ctx, string(topology.Sentinel), t.Real)
		t.Must(err)
		database := services.SQLite(t, "orders.db")
		a := openOffice(ctx, t, "A", database, servers.At(servers.Nodes[0].AnnouncedAddr()), checks)
		var orders []uint64
		for range contested {
			o, err := a.store.Create(ctx)
			t.Must(err)
			orders = append(orders, o.ID)
		}
		answered := make(chan struct{}) // when B's drivers are
		var come sync.WaitGroup         // A's drivers who have read, or were refused
		come.Add(contested)
		a.store = a.store.ThinkingUntil(func(ctx context.Context) error {
			come.Done()
			select {
			case <-answered:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		var wait func()
		_, end := replace(ctx, t, servers, func() {
			wait = t.Go(func() { a.grab(ctx, orders, come.Done) })
			come.Wait()
		})
		openOffice(ctx, t, "B", database, servers, checks).grab(ctx, orders, nil)
		close(answered)
		wait()
		a.recordWinners(ctx, orders)
		end()
	}
}

// office is an instance at which drivers grab orders.
type office struct {
	*experiments.Trial
	name   string
	store  *order.Store
	guard  lockstrategy.Guard
	checks bool // the database checks the fencing token
}

func openOffice(ctx context.Context, t *experiments.Trial, name, database string, servers *stack.Topology, checks bool) *office {
	store, err := order.OpenStore(ctx, order.Config{Database: database})
	t.Must(err)
	t.Cleanup(store.Close)
	c := clients.RedisLock(t, name, clients.Connect(ctx, t, servers), clients.LongLease)
	return &office{t, name, store, lockstrategy.Guard{Strategy: c.Lock, Once: true}, checks && !t.Unchecked()}
}

// grab lets a driver grab each order simultaneously. refused is called for each driver who has not read; nil: nobody is.
func (o *office) grab(ctx context.Context, orders []uint64, refused func()) {
	var all sync.WaitGroup
	for i, id := range orders {
		number := uint64(i + 1)
		if o.name == "B" {
			number += contested
		}
		d := &driver{office: o, name: fmt.Sprintf("driver %d at %s", number, o.name)}
		all.Go(func() {
			result, err := o.store.Grab(ctx, d, order.Attempt{OrderID: id, Driver: number, Version: "v3", Instance: o.name})
			d.told(id, result, err)
			if !d.granted && refused != nil {
				refused()
			}
		})
	}
	all.Wait()
}

// driver is a lock for one driver, which records what happens.
type driver struct {
	*office
	name    string
	token   uint64
	granted bool
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

// told records the answer to a driver.
func (d *driver) told(id uint64, result order.Result, err error) {
	key := order.LockKey(id)
	switch {
	case errors.Is(err, order.ErrStale):
		d.record(history.Stale, key, "")
	case err != nil:
		d.record(history.Refuse, key, err.Error())
	case result.Won:
		d.record(history.Note, key, "you have it")
	default:
		d.record(history.Note, key, fmt.Sprintf("driver %d has it", result.Winner))
	}
}

// recordWinners records the winners of each order, as the database says.
func (o *office) recordWinners(ctx context.Context, orders []uint64) {
	two := 0
	for _, id := range orders {
		stored, err := o.store.Get(ctx, id)
		o.Must(err)
		for _, w := range stored.Wins {
			name := fmt.Sprintf("driver %d at %s", w.Driver, w.Instance)
			o.Record(history.Event{Timeline: name, Owner: name, Kind: history.Win, Key: order.LockKey(id), Token: w.Token, Text: "by " + w.Instance})
		}
		if len(stored.Wins) == 0 {
			o.Must(fmt.Errorf("order %d has no winner", id))
		}
		if len(stored.Wins) > 1 {
			two++
		}
	}
	o.Measure("orders", int64(two), twoWinners)
	stale := 0
	for _, e := range o.Events() {
		if e.Kind == history.Stale {
			stale++
		}
	}
	o.Measure("orders", int64(stale), refusedOf8)
}
