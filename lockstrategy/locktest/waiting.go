package locktest

import (
	"context"
	"errors"
	"slices"
	"time"

	"locklab/lockstrategy"
)

func waiting() []promise {
	return []promise{
		{"a wait lasts until its context ends, says why, and leaves nothing behind", everybody, trial.waitEnds},
		{"under a context that has ended nothing is acquired", everybody, trial.neverWaits},
		{"TryOnce does not wait: a key that another holds is ErrTaken, with the holder", everybody, trial.triesOnce},
		{"WaitAtMost bounds the wait, and its error knows the holder", everybody, trial.withinWait},
		{"WaitAtMost does not bound the lease", everybody, trial.withinLease},
		{"in one process callers are served first in, first out", cohort, func(c trial) { c.serves() }},
		{"a caller that leaves the queue costs the others nothing", cohort, func(c trial) {
			c.serves(0, 3, 4, 9, 11) // the one that is next, some in the middle, and the last
		}},
	}
}

func (c trial) waitEnds() {
	one, two := c.pair(Settings{Lease: long})
	lease := c.acquire(one)
	reason := errors.New("the caller went away")
	ctx, cancel := context.WithTimeoutCause(context.Background(), short/4, reason)
	defer cancel()
	_, err := two.Acquire(ctx, c.key)
	for _, want := range []error{lockstrategy.ErrNotAcquired, context.DeadlineExceeded, reason} {
		if !errors.Is(err, want) {
			c.Errorf("%v does not wrap %q", err, want)
		}
	}
	if ctx.Err() == nil {
		c.Error("it ended before its context")
	}
	c.release(lease)
	c.eventually("the server has no owner of a key that nobody holds", func() bool { return c.standing() == 0 })
	c.release(c.acquire(one))
	c.release(c.acquire(two))
}

func (c trial) neverWaits() {
	client := c.open(Settings{Lease: long})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := client.Acquire(ctx, c.key); !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
		c.Errorf("got %v, want ErrNotAcquired and the context's own error", err)
	}
	c.free(client)
}

func (c trial) triesOnce() {
	one, two := c.pair(Settings{Lease: long})
	lease := c.acquire(one, lockstrategy.TryOnce())
	c.taken(one)
	c.taken(two)
	c.release(lease)
	c.free(one)
	c.free(two)
}

func (c trial) withinWait() {
	one, two := c.pair(Settings{Lease: long})
	lease := c.acquire(one)
	for _, client := range []Client{one, two} {
		began := time.Now()
		_, err := client.Acquire(c.bounded(), c.key, lockstrategy.WaitAtMost(short))
		if !errors.Is(err, lockstrategy.ErrNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			c.Errorf("got %v, want ErrNotAcquired and context.DeadlineExceeded", err)
		}
		c.knowsHolder(err)
		if waited := time.Since(began); waited < short || waited > timeout/2 {
			c.Errorf("it waited %s, not %s", waited, short)
		}
	}
	c.release(lease)
	c.free(two)
}

func (c trial) withinLease() {
	const bound = 3 * short // a slow answer comes within it
	one, two := c.pair(Settings{Lease: long})
	lease, err := one.Acquire(context.Background(), c.key, lockstrategy.WaitAtMost(bound))
	if err != nil {
		c.Fatal(err)
	}
	select {
	case <-lease.Context().Done():
		c.Fatalf("the lease ended: %v", context.Cause(lease.Context()))
	case <-time.After(bound + short/4): // it is over
	}
	c.taken(two)
	c.release(lease)
}

// serves lets a dozen wait, those in leave go away, and demands that the rest is served in its order.
func (c trial) serves(leave ...int) {
	const waiters = 12
	client := c.open(Settings{Lease: long})
	first := c.acquire(client)
	var stay, left []<-chan grant
	var cancels []context.CancelFunc
	for i := range waiters {
		ctx, cancel := context.WithCancel(context.Background())
		c.Cleanup(cancel)
		waiter := c.waitQueued(ctx, client)
		if slices.Contains(leave, i) {
			left, cancels = append(left, waiter), append(cancels, cancel)
		} else {
			stay = append(stay, waiter)
		}
	}
	for i, waiter := range left {
		cancels[i]()
		if g := <-waiter; !errors.Is(g.err, context.Canceled) {
			c.Errorf("a waiter that left got %v", g.err)
		}
	}
	c.eventually("those that left are out of the queue", func() bool { return client.Cohort.Waiting() == len(stay) })
	c.release(first)
	if order := c.serveAll(stay); !slices.IsSorted(order) || len(order) != len(stay) {
		c.Errorf("%d waiters came in the order %v", len(stay), order)
	}
}
