package orders

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy"
	"locklab/order"
)

var G13 = Experiments.Add(lab.Experiment{
	ID:       "G13-a2-to-the-letter",
	Articles: lab.Articles{"A2"},
	Claim: `A2's grab sleeps before it looks, and so does every loser, inside the lock: one driver wins, and the last of twenty waits for
		twenty seconds. Of forty drivers who wait for half a minute, some are refused.`,
	Level:    lab.Basic,
	Schedule: lab.Schedule{Slow: true, Takes: 55 * time.Second, Trials: 1}, // A2's second is a real one
	Check:    clients.Any(history.Winners, notServed),
	Variants: []lab.Variant{
		{Name: "conditional UPDATE, 40 drivers", Run: grabsToTheLetter(40, grabAtomic)},
		{Name: "sleeps and then looks, 20 drivers", Run: grabsToTheLetter(services.Drivers, sleepThenLook)},
		{Name: "sleeps and then looks, 40 drivers", Expect: lab.Sometimes, Run: grabsToTheLetter(40, sleepThenLook)},
		{Name: "looks and then sleeps, 40 drivers", Run: grabsToTheLetter(40, lookThenSleep)},
	},
})

const (
	second     = time.Second      // for which A2's grab sleeps
	lockWait   = 30 * time.Second // of a driver: the app's default of --wait
	httpWait   = time.Minute      // of nginx for an answer, if nobody sets proxy_read_timeout
	listedTime = 30 * time.Second // the lease of A2's locks
)

// grabLocked grabs an order in the way of the listing. lock is the instance's.
type grabLocked = func(ctx context.Context, lock lockstrategy.Guard, orders *order.Store, a order.Attempt) (order.Result, error)

// grabsToTheLetter lets drivers grab an order at two instances. Each has a client of the Redis lock, as the listing has Redisson's.
func grabsToTheLetter(drivers int, grab grabLocked) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x := clients.StartRedis(ctx, t)
		locks := make(map[string]lockstrategy.Guard)
		for _, instance := range listingInstances {
			locks[instance] = lockstrategy.Guard{Strategy: x.NewClient(instance, listedTime).Lock, Wait: lockWait}
		}
		target := startListing(ctx, t, func(ctx context.Context, orders *order.Store, a order.Attempt) (told any, err error) {
			result, err := grab(ctx, locks[a.Instance], orders, a)
			if errors.Is(err, lockstrategy.ErrNotAcquired) && errors.Is(err, context.DeadlineExceeded) {
				return refused(a.Instance), nil
			}
			return burst.Grab{Instance: a.Instance, Driver: a.Driver, Won: result.Won, Winner: result.Winner}, err
		})
		b := services.Service{Version: listed, Drivers: drivers}.RecordGrabs(ctx, t, target)
		t.Must(b.Sound(len(listingInstances)))
		t.Measure("all drivers", b.Took.Milliseconds(), lab.Milliseconds.Of("until the last driver was answered"))
		t.Measure("all drivers", int64(len(b.Locked)), lab.Count.Of("drivers told 423"))
	}
}

// refusal is the answer to a driver who did not get the lock in time.
type refusal struct {
	Instance string `json:"instance"`
	Locked   struct {
		By string `json:"by"`
	} `json:"locked"`
}

func refused(instance string) (r refusal) {
	r.Instance, r.Locked.By = instance, "another driver"
	return r
}

// sleepThenLook is A2's grab: in the lock it reads, sleeps, and then looks whether the order that it has read was open. The store sleeps
// only before a write, so a driver who has read that the order is taken sleeps here.
func sleepThenLook(ctx context.Context, lock lockstrategy.Guard, orders *order.Store, a order.Attempt) (result order.Result, err error) {
	err = lock.Do(ctx, order.LockKey(a.OrderID), func(ctx context.Context, token uint64) (err error) {
		if result, err = orders.WithThinkTime(second).Grab(ctx, locked(token), a); err != nil || result.Won {
			return err
		}
		select {
		case <-time.After(second):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	return result, err
}

// locked is the lock of a caller that holds it already: its token.
type locked uint64

func (l locked) Do(ctx context.Context, _ string, fn func(ctx context.Context, token uint64) error) error {
	return fn(ctx, uint64(l))
}

// lookThenSleep is the app's grab: a driver who finds the order taken does not sleep.
func lookThenSleep(ctx context.Context, lock lockstrategy.Guard, orders *order.Store, a order.Attempt) (order.Result, error) {
	return orders.WithThinkTime(second).Grab(ctx, lock, a)
}

// grabAtomic takes no lock.
func grabAtomic(ctx context.Context, _ lockstrategy.Guard, orders *order.Store, a order.Attempt) (order.Result, error) {
	return orders.GrabAtomic(ctx, a)
}

// notServed finds drivers who were refused, because others were in the lock for so long, and drivers whose answer has come when their HTTP
// client or a proxy has ended the request.
func notServed(trial []history.Event) (found []history.Violation) {
	asked := make(map[string]history.Event)
	for _, e := range trial {
		request, is := asked[e.Timeline]
		waited := e.At - request.At
		what := ""
		switch {
		case e.Kind == history.Request:
			asked[e.Timeline] = e
		case !is || e.Kind == history.Win: // the data have their own time
		case e.Kind == history.Refuse:
			what = fmt.Sprintf("%s waited for %.1f s, and was refused", e.Timeline, waited.Seconds())
		case waited > httpWait:
			what = fmt.Sprintf("%s was answered after %.1f s, when nobody waits any more", e.Timeline, waited.Seconds())
		}
		if what != "" {
			found = append(found, history.Violation{Key: e.Key, What: what, Events: []int{request.Seq, e.Seq}})
		}
	}
	return found
}
