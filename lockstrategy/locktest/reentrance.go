package locktest

import (
	"context"
	"errors"

	"locklab/lockstrategy"
)

func reentrance() []promise {
	return []promise{
		{"a caller that holds a key enters again, and is out when it has released as often", queued, trial.entersAgain},
		{"to enter again needs no round trip", all(shared, queued), trial.entersWithoutARoundTrip},
		{"only a caller under the lease's context enters again, and only with its own strategy", queued, trial.entersUnderItsContext},
		{"an owner finds its lock behind another key's", queued, trial.entersBehind},
		{"a Guard enters again in its own work", queued, trial.guardEntersAgain},
		{"under a released lease's context nobody enters again", queued, trial.entersNoMore},
		{"a lease's context has the values of the one it was acquired under", everybody, trial.values},
	}
}

func (c trial) entersAgain() {
	one, two := c.pair(Settings{Lease: long})
	outer := c.acquire(one)
	middle := c.acquireUnder(outer.Context(), one)
	inner := c.acquireUnder(middle.Context(), one, lockstrategy.TryOnce())
	for _, lease := range []*lockstrategy.Lease{middle, outer} { // in any order
		c.release(lease)
		c.taken(two)
		if err := lease.Release(context.Background()); !errors.Is(err, lockstrategy.ErrNotHeld) {
			c.Errorf("a second release of one entry returned %v, want ErrNotHeld", err)
		}
		c.taken(two)
		if err := inner.Context().Err(); err != nil {
			c.Fatalf("the lock is held still, and its context ended: %v", err)
		}
	}
	if outer.FencingToken() != inner.FencingToken() {
		c.Errorf("one owner has the tokens %d and %d", outer.FencingToken(), inner.FencingToken())
	}
	c.release(inner)
	c.free(two)
}

func (c trial) entersWithoutARoundTrip() {
	const entries = 200
	client := c.open(Settings{Lease: long})
	outer := c.acquire(client)
	before := client.Sent()
	for range entries {
		c.release(c.acquireUnder(outer.Context(), client))
	}
	// A word or two may be the lease's upkeep.
	if sent := client.Sent() - before; sent > entries/20 {
		c.Errorf("%d entries cost %d commands", entries, sent)
	}
	c.release(outer)
}

func (c trial) entersUnderItsContext() {
	one := c.open(Settings{Lease: long})
	lease := c.acquire(one)
	c.taken(one)
	if !c.backend.InProcess { // another process's mutex is another lock
		two := c.open(Settings{Lease: long})
		if _, err := c.tryOnce(lease.Context(), two); !errors.Is(err, lockstrategy.ErrTaken) {
			c.Errorf("another strategy: got %v, want ErrTaken", err)
		}
	}
	c.release(lease)
}

func (c trial) entersBehind() {
	client, other := c.open(Settings{Lease: long}), c
	other.key += "-b"
	outer := c.acquire(client)
	between := other.acquireUnder(outer.Context(), client)
	inner := c.acquireUnder(between.Context(), client, lockstrategy.TryOnce())
	other.release(between)
	if err := inner.Context().Err(); err != nil {
		c.Errorf("the end of one lock ended another's context: %v", err)
	}
	c.release(inner)
	c.release(outer)
	c.free(client)
}

func (c trial) guardEntersAgain() {
	client := c.open(Settings{Lease: long})
	guard := lockstrategy.Guard{Strategy: client, Wait: timeout}
	err := guard.Do(context.Background(), c.key, func(ctx context.Context, outer uint64) error {
		return guard.Do(ctx, c.key, func(ctx context.Context, inner uint64) error {
			if inner != outer {
				c.Errorf("the work inside has token %d, outside %d", inner, outer)
			}
			c.taken(client)
			return ctx.Err()
		})
	})
	if err != nil {
		c.Error(err)
	}
	c.free(client)
}

func (c trial) entersNoMore() {
	one, two := c.pair(Settings{Lease: long})
	past := c.acquire(one)
	c.release(past)
	now := c.acquire(two)
	if _, err := c.tryOnce(past.Context(), one); !errors.Is(err, lockstrategy.ErrNotAcquired) {
		c.Errorf("got %v, want ErrNotAcquired", err)
	}
	c.release(now)
}

func (c trial) values() {
	type tag struct{}
	lease := c.acquireUnder(context.WithValue(context.Background(), tag{}, "the request's"), c.open(Settings{Lease: long}))
	if got := lease.Context().Value(tag{}); got != "the request's" {
		c.Errorf("it has %v", got)
	}
	c.release(lease)
}
