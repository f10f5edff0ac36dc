package anatomy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy"
)

var L26 = Experiments.Add(lab.Experiment{
	ID: "L26-opposite-order",
	Claim: `
		Two clients that take two locks in opposite order wait for each other until a wait or a lease ends. In one order they do not.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 7 * time.Second},
	Check:    clients.Any(history.Counter, waitedInCircle),
	Variants: []lab.Variant{
		{Name: "the same order", Run: crossing{locks: sameOrder}.scenario()},
		{Name: "opposite order, renewed leases", Expect: lab.Sometimes, Run: crossing{locks: opposite}.scenario()},
		{Name: "opposite order, leases that end", Expect: lab.Sometimes, Run: crossing{locks: opposite, ends: true}.scenario()},
		{Name: "opposite order, try and back off", Run: crossing{locks: opposite, backsOff: true}.scenario()},
		{Name: "one lock for both", Run: crossing{locks: oneLock}.scenario()},
	},
})

const (
	crossLease = 400 * time.Millisecond
	crossWait  = 3 * crossLease        // of A; B waits for twice as long, so that they are not refused at the same moment
	crossPause = 20 * time.Millisecond // after a refusal, at most
)

// Locks of A and of B.
var (
	sameOrder = [2]string{"1 2", "1 2"}
	opposite  = [2]string{"1 2", "2 1"}
	oneLock   = [2]string{"12", "12"}
)

// crossing is how A and B each add one to two accounts.
type crossing struct {
	locks    [2]string // in the order in which A and B take them; the name of a lock has the accounts that it protects
	ends     bool      // the leases are named, so they are not renewed
	backsOff bool      // a client does not wait for a lock
}

func (c crossing) scenario() lab.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		accounts := make(map[rune]*clients.Resource)
		for _, n := range "12" {
			accounts[n] = clients.NewResource(x.Trial, false)
			accounts[n].Key = "account " + string(n)
		}
		met, began := make(chan struct{}), x.Now()
		x.GoEach(len(c.locks), func(i int) {
			u := update{Trial: x.Trial, client: x.NewClient("AB"[i:i+1], x.Scaled(crossLease)), accounts: accounts}
			u.locks, u.wait = strings.Fields(c.locks[i]), lockstrategy.WaitAtMost(time.Duration(i+1)*x.Scaled(crossWait))
			if c.backsOff {
				u.wait = lockstrategy.TryOnce()
			}
			if c.ends {
				u.named = []lockstrategy.Option{lockstrategy.LeaseFor(x.Scaled(crossLease))}
			}
			x.Measure(u.client.Name, u.untilDone(ctx, met), lab.Count.Of("attempts"))
		})()
		x.Measure("lab", (x.Now() - began).Microseconds(), lab.Microseconds.Of("until both are through"))
	})
}

// update is one client that adds one to both accounts under its locks.
type update struct {
	*lab.Trial
	client   *clients.Client
	accounts map[rune]*clients.Resource
	locks    []string
	wait     lockstrategy.Option
	named    []lockstrategy.Option // the lease; empty: it is the client's, and renewed
}

// untilDone makes attempts until one succeeds, and returns how many. In the first one each client tries its first lock once, and meets the
// other client before it does anything else. So none has a second lock before the other has tried its first.
func (u update) untilDone(ctx context.Context, met chan struct{}) (attempts int64) {
	first := u.request(ctx, u.locks[0], lockstrategy.TryOnce())
	select {
	case met <- struct{}{}:
	case <-met:
	case <-ctx.Done():
	}
	for attempts = 1; !u.attempt(ctx, first); attempts++ {
		first = nil
		time.Sleep(rand.N(u.Scaled(crossPause)))
		u.Must(ctx.Err())
	}
	return attempts
}

// request returns nil when the lock was refused.
func (u update) request(ctx context.Context, lock string, wait lockstrategy.Option) *clients.LocalHolder {
	u.client.Key = "lock:account:" + lock
	h, err := u.client.TryAcquire(ctx, append(u.named, wait)...)
	if errors.Is(err, lockstrategy.ErrTaken) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	u.Must(err)
	return h
}

// attempt takes the locks, or those behind first if that is held, and reads the accounts of each. With all of them it writes each account,
// without a look at its leases. Then it releases what it holds.
func (u update) attempt(ctx context.Context, first *clients.LocalHolder) (done bool) {
	var held []*clients.LocalHolder
	var values []int64
	for i, lock := range u.locks {
		h := first
		if i > 0 || h == nil {
			h = u.request(ctx, lock, u.wait)
		}
		if h == nil {
			break
		}
		held = append(held, h)
		for _, n := range lock {
			values = append(values, u.accounts[n].Read(h))
		}
	}
	if done = len(held) == len(u.locks); done {
		u.write(held, values)
	}
	for _, h := range slices.Backward(held) {
		if err := h.TryRelease(ctx); len(u.named) == 0 {
			u.Must(err) // a renewed lease must not end
		}
	}
	return done
}

func (u update) write(held []*clients.LocalHolder, values []int64) {
	for i, h := range held {
		h.Alive() // it records the loss: the client does not look
		for _, n := range u.locks[i] {
			u.accounts[n].Write(h, values[0]+1)
			values = values[1:]
		}
	}
}

// waitedInCircle finds clients that waited in vain, because of each other: each requested a lock that the next one held.
func waitedInCircle(trial []history.Event) (found []history.Violation) {
	waits, holders := make(map[string]history.Event), make(map[string]history.Event) // requests by client, grants by key
	for _, e := range trial {
		switch e.Kind {
		case history.Request:
			waits[e.Timeline] = e
		case history.Grant:
			delete(waits, e.Timeline)
			holders[e.Key] = e
		case history.Release, history.Lose:
			if holders[e.Key].Owner == e.Owner {
				delete(holders, e.Key)
			}
		case history.Refuse:
			if circle, seqs := circleFrom(e.Timeline, waits, holders); e.Text == history.Deadline && circle != nil {
				what := fmt.Sprintf("%s waited for each other until the wait of %s ended", strings.Join(circle, " and "), e.Timeline)
				found = append(found, history.Violation{Key: e.Key, What: what, Events: append(seqs, e.Seq)})
			}
			delete(waits, e.Timeline)
		}
	}
	return found
}

// circleFrom follows the wait of a client to the holder of what it requests, to what that one requests, and so on. It returns the clients,
// and the events that show it, when that leads back to the first; nil: it does not.
func circleFrom(first string, waits, holders map[string]history.Event) (circle []string, seqs []int) {
	for client := first; !slices.Contains(circle, client); {
		request, waiting := waits[client]
		grant, held := holders[request.Key]
		if !waiting || !held {
			return nil, nil
		}
		circle, seqs = append(circle, client), append(seqs, request.Seq, grant.Seq)
		if client = grant.Timeline; client == first {
			slices.Sort(seqs)
			return circle, seqs
		}
	}
	return nil, nil // a circle of others
}
