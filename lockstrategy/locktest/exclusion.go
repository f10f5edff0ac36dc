package locktest

import (
	"context"
	"errors"
	"strings"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
)

func exclusion() []promise {
	return []promise{
		{"one holder at a time, over two processes", shared, func(c trial) {
			c.oneHolder(localqueue.HandOff{})
		}},
		{"one holder at a time, in the process", local, func(c trial) {
			c.oneHolder(localqueue.HandOff{})
		}},
		{"one holder at a time, when nothing is handed off", queued, func(c trial) {
			c.oneHolder(localqueue.HandOff{Count: 1})
		}},
		{"a key does not wait for another", everybody, trial.keysApart},
		{"a released lease's context ends, and not as lost", everybody, trial.released},
		{"a second release is ErrNotHeld and frees nobody's lock", everybody, trial.releasedTwice},
		{"a release works under a context that has ended", everybody, trial.releasedLate},
		{"a lease outlives the context it was acquired under", everybody, trial.outlives},
		{"a living holder keeps its lease beyond the lease's length", served, trial.renewed},
		{"a lock that is closed ends waits, grants nothing, and keeps what it holds", shared, trial.closed},
	}
}

func (c trial) oneHolder(bounds localqueue.HandOff) {
	one, two := c.pair(Settings{Lease: long, HandOff: bounds})
	callers := 8
	if !c.backend.Queued {
		callers = 4 // all of them compete on the server, without a queue: it takes longer
	}
	if err := Excludes(c.Context(), one, two, c.key, callers, 8); err != nil {
		c.Error(err)
	}
}

func (c trial) keysApart() {
	one, two := c.pair(Settings{Lease: long})
	held := []*lockstrategy.Lease{c.acquire(one)}
	for i, name := range []string{c.key + "-b", c.key + "/b", "./" + c.key, strings.ToUpper(c.key), c.key + "ä"} {
		other := c
		other.key = name
		held = append(held, other.acquire([]Client{two, one}[i%2], lockstrategy.TryOnce()))
	}
	for _, lease := range held {
		c.release(lease)
	}
}

func (c trial) released() {
	lease := c.acquire(c.open(Settings{Lease: long}))
	if err := lease.Context().Err(); err != nil {
		c.Fatalf("a lease that is held ends with %v", err)
	}
	c.release(lease)
	if cause := context.Cause(lease.Context()); !errors.Is(cause, context.Canceled) || errors.Is(cause, lockstrategy.ErrLost) {
		c.Fatalf("a released lease ends with %v, want context.Canceled", cause)
	}
	c.eventually("the server has no owner of a lock that was released", func() bool { return c.standing() == 0 })
}

func (c trial) releasedTwice() {
	one, two := c.pair(Settings{Lease: long})
	first := c.acquire(one)
	c.release(first)
	second := c.acquire(two)
	if err := first.Release(context.Background()); !errors.Is(err, lockstrategy.ErrNotHeld) {
		c.Fatalf("the second release returned %v, want ErrNotHeld", err)
	}
	c.taken(one)
	c.release(second)
}

func (c trial) releasedLate() {
	one, two := c.pair(Settings{Lease: long})
	lease := c.acquire(one)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := lease.Release(ended); err != nil {
		c.Fatal(err)
	}
	c.free(two)
}

func (c trial) outlives() {
	one, two := c.pair(Settings{Lease: long})
	ctx, cancel := context.WithCancel(context.Background())
	lease := c.acquireUnder(ctx, one)
	cancel()
	c.taken(two)
	if err := lease.Context().Err(); err != nil {
		c.Fatalf("it ended with the context it was acquired under: %v", err)
	}
	c.release(lease)
}

func (c trial) renewed() {
	one, two := c.pair(Settings{Lease: 3 * short})
	lease := c.acquire(one)
	if _, err := two.Acquire(c.bounded(), c.key, lockstrategy.WaitAtMost(4*short)); !errors.Is(err, lockstrategy.ErrNotAcquired) {
		c.Fatalf("another client got the lock of a living holder: %v", err)
	}
	if err := lease.Context().Err(); err != nil {
		c.Fatalf("the holder lost its lease: %v", context.Cause(lease.Context()))
	}
	c.release(lease)
}

func (c trial) closed() {
	one, two := c.pair(Settings{Lease: 3 * short})
	lease := c.acquire(one)
	before := two.Sent()
	waiter := c.wait(c.bounded(), two)
	c.eventually("it waits", func() bool { return two.Sent() > before })
	two.Close()
	_, later := two.Acquire(c.bounded(), c.key+"-b")
	for what, err := range map[string]error{"a caller that waited": (<-waiter).err, "a later one": later} {
		if !errors.Is(err, lockstrategy.ErrUnavailable) || !errors.Is(err, lockstrategy.ErrNotAcquired) {
			c.Errorf("%s got %v, want ErrUnavailable and ErrNotAcquired", what, err)
		}
	}
	if len(c.backend.Server.Entries(c.T, c.key+"-b")) > 0 {
		c.Error("a lock that is closed has taken a key")
	}
	until := lease.Until()
	one.Close()
	c.eventually("it is renewed, or lost", func() bool { return lease.Until().After(until) || lease.Context().Err() != nil })
	c.taken(c.open(Settings{Lease: long}))
	c.release(lease)
	c.eventually("the server has no owner of the key", func() bool { return c.standing() == 0 })
}
