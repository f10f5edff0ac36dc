package locktest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
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
		{"a lease has bounds: one beyond them is refused, and the error says them", everybody, trial.leaseBounds},
		{"the largest bounds of a wait and of renewal bound nothing", everybody, trial.largest},
		{"in one process callers are served first in, first out", queued, func(c trial) { c.serves() }},
		{"a caller that leaves the queue costs the others nothing", queued, func(c trial) {
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

func (c trial) leaseBounds() {
	const shortest, longest = 10 * time.Millisecond, 24 * time.Hour
	one, two := c.pair(Settings{Lease: long})
	try := func(length time.Duration) (*lockstrategy.Lease, error) {
		return one.Acquire(c.bounded(), c.key, lockstrategy.LeaseFor(length), lockstrategy.TryOnce())
	}
	for _, beyond := range []time.Duration{math.MinInt64, -1, 0, shortest - 1, longest + 1, math.MaxInt64} {
		_, err := try(beyond)
		if !errors.Is(err, lockstrategy.ErrNotAcquired) || errors.Is(err, lockstrategy.ErrUnavailable) ||
			!strings.Contains(err.Error(), "it must be 10ms to 24h0m0s") {
			c.Errorf("a lease of %s: got %v, want a refusal with the bounds", beyond, err)
		}
	}
	c.free(two)
	lease, err := try(longest)
	if err != nil {
		c.Fatalf("the longest lease: %v", err)
	}
	if left := time.Until(lease.Until()); left <= 0 || left > longest {
		c.Errorf("the longest lease ends in %s", left)
	}
	c.taken(two)
	c.release(lease)
}

func (c trial) largest() {
	one, two := c.pair(Settings{Lease: long})
	lease, err := one.Acquire(c.bounded(), c.key, lockstrategy.RenewAtMost(math.MaxInt64), lockstrategy.WaitAtMost(math.MaxInt64))
	if err != nil {
		c.Fatal(err)
	}
	c.taken(two)
	if left := time.Until(lease.Until()); left <= 0 || lease.Context().Err() != nil {
		c.Errorf("the lease ends in %s: %v", left, context.Cause(lease.Context()))
	}
	waiter := make(chan grant, 1)
	go func() {
		lease, err := two.Acquire(c.bounded(), c.key, lockstrategy.WaitAtMost(math.MaxInt64))
		waiter <- grant{lease, err}
	}()
	c.release(lease)
	c.release(c.granted(waiter))
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
	c.eventually("those that left are out of the queue", func() bool { return client.Queue.Waiting() == len(stay) })
	c.release(first)
	if order := c.serveAll(stay); !slices.IsSorted(order) || len(order) != len(stay) {
		c.Errorf("%d waiters came in the order %v", len(stay), order)
	}
}
