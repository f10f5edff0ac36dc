package locktest

import (
	"context"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
	"locklab/lockstrategy/redislock"
)

func forced() []promise {
	return []promise{
		{"Inspect names the holder of a key, and says for how long it holds", admin, trial.inspect},
		{"a holder of another kind is seen, excludes, and can be freed by force", admin, trial.foreign},
		{"by force: the holder is notified, long before it would have renewed", admin, trial.forcedLoss},
		{"by force: a holder that does not listen yet learns it as soon as it does", admin, trial.forcedEarly},
		{"by force: a caller that waits gets the lock", admin, trial.forcedWaiter},
		{"by force: a lease that was handed off is lost, and the callers that wait go on", all(admin, queued), trial.forcedAfterHandOff},
		{"by force: what nobody holds is not freed", admin, trial.forcedNothing},
	}
}

func (c trial) state(client Client) redislock.State {
	c.Helper()
	s, err := client.Admin.Inspect(context.Background(), c.key)
	if err != nil {
		c.Fatal(err)
	}
	return s
}

func (c trial) force(client Client, freed bool) {
	c.Helper()
	got, err := client.Admin.ForceUnlock(context.Background(), c.key)
	if err != nil || got != freed {
		c.Errorf("ForceUnlock says %t (%v), want %t", got, err, freed)
	}
}

// listening acquires, and returns when the holder listens: then it has looked once whether it still holds.
func (c trial) listening(client Client) *lockstrategy.Lease {
	c.Helper()
	lease := c.acquire(client)
	before := client.Sent()
	c.eventually("the holder listens", func() bool { return client.Sent() > before })
	return lease
}

func (c trial) inspect() {
	one, two := c.pair(Settings{Lease: long})
	if s := c.state(one); s != (redislock.State{}) {
		c.Errorf("a free key: %+v", s)
	}
	lease := c.acquire(one)
	mine, theirs := c.state(one), c.state(two)
	if !mine.Held || !mine.Mine || mine.Owner == "" || mine.Count != 1 || mine.Remaining <= long/2 || mine.Remaining > long {
		c.Errorf("my own key: %+v", mine)
	}
	if !theirs.Held || theirs.Mine || theirs.Owner != mine.Owner {
		c.Errorf("another's key: %+v, its owner says %+v", theirs, mine)
	}
	c.release(lease)
	if s := c.state(two); s.Held {
		c.Errorf("a key that was released: %+v", s)
	}
}

func (c trial) foreign() {
	client := c.open(Settings{Lease: long})
	c.backend.Server.Foreign(c.T, c.key, "java:1")
	s := c.state(client)
	if !s.Held || s.Mine || s.Owner != "java:1" || s.Count != 2 || s.Remaining <= 0 || s.Remaining > time.Hour {
		c.Errorf("another kind's key: %+v", s)
	}
	c.taken(client)
	waiter := c.waitListening(context.Background(), client)
	c.force(client, true)
	c.release(c.granted(waiter))
}

func (c trial) forcedLoss() {
	one, two := c.pair(Settings{Lease: long})
	lease := c.listening(one)
	c.force(two, true)
	c.lost(lease, lockstrategy.ErrForced)
	c.free(two)
}

// The holder has missed the message, so it cannot know that it was force.
func (c trial) forcedEarly() {
	one, two := c.pair(Settings{Lease: long})
	lease := c.acquire(one)
	c.force(two, true)
	c.lost(lease, lockstrategy.ErrLost)
	c.free(two)
}

func (c trial) forcedWaiter() {
	one, two := c.pair(Settings{Lease: long})
	lease := c.listening(one)
	waiter := c.waitListening(context.Background(), two)
	c.force(c.open(Settings{Lease: long}), true)
	next := c.granted(waiter)
	c.lost(lease, lockstrategy.ErrForced)
	c.taken(one)
	if next.FencingToken() <= lease.FencingToken() {
		c.Errorf("the token %d of the next holder does not come after %d", next.FencingToken(), lease.FencingToken())
	}
	c.release(next)
}

func (c trial) forcedAfterHandOff() {
	client := c.open(Settings{Lease: long, HandOff: localqueue.HandOff{Count: 100, Time: long}})
	c.losesAfterHandOff(client, c.listening(client), func() { c.force(client, true) })
}

func (c trial) forcedNothing() {
	one, two := c.pair(Settings{Lease: long})
	c.force(one, false)
	c.release(c.acquire(two))
	c.force(one, false)
	c.free(one) // and kept for nobody
}
