package locktest

import (
	"context"
	"errors"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
)

func unreachable() []promise {
	return []promise{
		{"a holder whose wire is cut loses its lease with ErrUnreachable, before another has it", wired, func(c trial) {
			c.losesUnreachable((*Wire).Cut)
		}},
		{"a holder whose wire hangs loses its lease with ErrUnreachable, before another has it", hung, func(c trial) {
			c.losesUnreachable((*Wire).Hang)
		}},
		{"a holder whose wire is cut for a while keeps its lease", wired, trial.cutForAWhile},
		{"a lease counts from before its request was sent", hung, trial.countsFromBefore},
		{"over a slow wire there is one holder at a time", hung, trial.slowWire},
	}
}

func (c trial) losesUnreachable(fault func(*Wire)) {
	one, wire, two := c.wiredPair(Settings{Lease: 3 * short})
	lease := c.acquire(one)
	fault(wire)
	next := c.acquireAfter(lease, two, lockstrategy.ErrUnreachable)
	wire.Mend()
	c.release(next)
	c.grantedAgain(one)
}

func (c trial) cutForAWhile() {
	one, wire, two := c.wiredPair(Settings{Lease: renewed})
	lease := c.acquire(one)
	before := lease.Until()
	wire.Cut()
	select { // two renewals fail
	case <-time.After(time.Until(before) / 2):
	case <-lease.Context().Done():
	}
	wire.Mend()
	c.eventually("it is renewed again, or lost", func() bool { return lease.Until().After(before) || lease.Context().Err() != nil })
	if err := lease.Context().Err(); err != nil {
		c.Fatalf("the lease was lost: %v", context.Cause(lease.Context()))
	}
	c.taken(two)
	c.release(lease)
}

func (c trial) countsFromBefore() {
	const moderate = 10 * short // of a longer one the clocks' drift would be more than the delay
	one, wire, _ := c.wiredPair(Settings{Lease: moderate})
	wire.Delay(0, short/2)
	asked, lease := c.grantedTry(one)
	if took := time.Since(asked); took < short/2 {
		c.Fatalf("the answer took %s: nothing is tested", took)
	}
	if counted := lease.Until().Sub(asked); counted > moderate {
		c.Errorf("a lease of %s is relied on until %s after it was asked for", moderate, counted)
	}
	wire.Delay(0, 0)
	c.release(lease)
}

// grantedTry repeats single tries until one is granted, and says when that one began. A node may still have the key of the last holder.
func (c trial) grantedTry(by Client) (asked time.Time, lease *lockstrategy.Lease) {
	c.eventually("a try is granted", func() bool {
		asked = time.Now()
		var err error
		lease, err = by.Acquire(c.bounded(), c.key, lockstrategy.TryOnce())
		if err != nil && !errors.Is(err, lockstrategy.ErrTaken) {
			c.Fatal(err)
		}
		return err == nil
	})
	return asked, lease
}

func (c trial) slowWire() {
	one, wire, two := c.wiredPair(Settings{Lease: long, HandOff: localqueue.HandOff{Count: 3}})
	wire.Delay(5*time.Millisecond, 5*time.Millisecond)
	if err := Excludes(c.Context(), one, two, c.key, 3, 5); err != nil {
		c.Error(err)
	}
}
