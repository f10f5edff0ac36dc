package locktest

import (
	"context"
	"errors"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
)

func losses() []promise {
	return []promise{
		{"LeaseFor: the lease is not renewed, and lost with ErrExpired", everybody, trial.explicit},
		{"LeaseFor: the server's key is gone with the lease", served, trial.explicitOnTheServer},
		{"RenewAtMost bounds a lease that is renewed: it is lost with ErrExpired", everybody, trial.atMost},
		{"RenewAtMost: the key is given back immediately, whatever its lease", everybody, trial.atMostGivesBack},
		{"a lease that the server has forgotten is lost with ErrGone", served, trial.gone},
		{"a dead holder's key is free after its lease, and not before it stopped", shared, trial.dead},
		{"a lease that is lost ends every context that relied on it", all(served, queued), trial.lostTogether},
		{
			"a lease that is lost after a hand-off is the next owner's loss, and the callers that wait go on",
			all(served, queued), trial.lostAfterHandOff,
		},
	}
}

func (c trial) explicit() {
	const length = 3 * short // a slow answer to its request does not lose it
	one, two := c.pair(Settings{Lease: long})
	asked := time.Now()
	lease := c.acquire(one, lockstrategy.LeaseFor(length))
	if end := lease.Until(); end.Before(asked.Add(length/2)) || end.After(time.Now().Add(length)) {
		c.Errorf("a lease of %s ends %s after it was asked for", length, end.Sub(asked))
	}
	next := c.acquireAfter(lease, two, lockstrategy.ErrExpired)
	c.taken(one) // the release of the lost one has freed nobody's
	c.release(next)
}

func (c trial) explicitOnTheServer() {
	lease := c.acquire(c.open(Settings{Lease: long}), lockstrategy.LeaseFor(3*short)) // it ends 61 ms before the key
	c.eventually("the key is gone", func() bool { return c.standing() == 0 })
	if early := time.Until(lease.Until()); early > 0 {
		c.Errorf("the key is gone %s before the lease ends", early)
	}
	c.lost(lease, lockstrategy.ErrExpired)
}

func (c trial) atMost() {
	one, two := c.pair(Settings{Lease: 3 * short}) // a slow answer to its renewal does not lose it
	asked := time.Now()
	lease := c.acquire(one, lockstrategy.RenewAtMost(4*short))
	next := c.acquireAfter(lease, two, lockstrategy.ErrExpired)
	if lived := lease.Until().Sub(asked); lived < 4*short {
		c.Errorf("it was not renewed: it ended after %s", lived)
	}
	c.release(next)
}

func (c trial) atMostGivesBack() {
	one, two := c.pair(Settings{Lease: long})
	lease := c.acquire(one, lockstrategy.RenewAtMost(short/4))
	waiter := c.wait(context.Background(), two)
	c.lost(lease, lockstrategy.ErrExpired)
	c.release(c.granted(waiter))
}

func (c trial) gone() {
	settings := Settings{Lease: renewed}
	if c.backend.Watches {
		settings.Lease = long
	}
	client := c.open(settings)
	lease := c.acquire(client)
	c.backend.Server.Forget(c.T, c.key)
	waiter := c.wait(context.Background(), client)
	c.lost(lease, lockstrategy.ErrGone)
	c.release(c.granted(waiter)) // the turn was passed on
}

func (c trial) dead() {
	one, two := c.open(Settings{Lease: 3 * short}), c.open(Settings{Lease: 3 * short})
	lease := c.acquire(one)
	one.Crash()
	c.release(c.acquireAfter(lease, two, lockstrategy.ErrLost)) // unreachable, or expired before a renewal was tried
}

func (c trial) lostTogether() {
	client := c.open(Settings{Lease: renewed})
	outer := c.acquire(client)
	inner := c.acquireUnder(outer.Context(), client)
	c.worksUntilLoss(outer.Context(), client, func() { c.backend.Server.Forget(c.T, c.key) })
	c.lost(inner, lockstrategy.ErrGone)
	c.lost(outer, lockstrategy.ErrGone)
	c.release(c.acquire(client))
}

func (c trial) lostAfterHandOff() {
	client := c.open(Settings{Lease: renewed, HandOff: localqueue.HandOff{Count: 100, Time: long}})
	first := c.acquire(client)
	c.losesAfterHandOff(client, first, func() { c.backend.Server.Forget(c.T, c.key) })
	if cause := context.Cause(first.Context()); errors.Is(cause, lockstrategy.ErrLost) {
		c.Errorf("a lease that was released before counts as lost: %v", cause)
	}
}

// losesAfterHandOff hands first's lease off to a caller that loses it by cause. A third caller goes on.
func (c trial) losesAfterHandOff(client Client, first *lockstrategy.Lease, cause func()) {
	done := make(chan struct{})
	c.Cleanup(func() { <-done }) // it reports to the case
	go func() {
		defer close(done)
		c.worksUntilLoss(context.Background(), client, cause)
	}()
	c.eventually("the next owner is in the queue", func() bool { return client.Queue.Waiting() == 1 })
	third := c.waitQueued(context.Background(), client)
	c.release(first)
	<-done
	c.release(c.granted(third))
}

// worksUntilLoss works under the lock, with one more entry inside, until the lock is lost by cause.
func (c trial) worksUntilLoss(ctx context.Context, client Client, cause func()) {
	guard := lockstrategy.Guard{Strategy: client, Wait: timeout}
	err := guard.Do(ctx, c.key, func(work context.Context, _ uint64) error {
		again, err := c.tryOnce(work, client)
		if err != nil {
			return err
		}
		cause()
		select {
		case <-work.Done():
		case <-time.After(timeout):
			c.Error("the work's context did not end")
		}
		select {
		case <-again.Context().Done():
		case <-time.After(timeout):
			c.Error("the inner lease's context did not end")
		}
		if err := again.Release(work); !errors.Is(err, lockstrategy.ErrLost) {
			c.Errorf("the inner release returned %v, want ErrLost", err)
		}
		return context.Cause(work)
	})
	if !errors.Is(err, lockstrategy.ErrLost) {
		c.Errorf("work whose lock was lost ended with %v, want ErrLost", err)
	}
}
