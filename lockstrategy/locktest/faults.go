package locktest

import (
	"context"
	"errors"
	"strings"

	"locklab/lockstrategy"
)

func faults() []promise {
	return []promise{
		{"a release that was not confirmed is repeated until it is", wired, trial.releaseRepeated},
		{"a release whose answer was lost is repeated, and frees nobody else's lock", wired, trial.releaseAnswerLost},
		{"an acquire whose answer was lost leaves nothing locked", wired, trial.acquireAnswerLost},
		{"an acquire whose answer was lost is not counted twice", wired, trial.acquireCountedOnce},
		{"a server that does not answer keeps nobody waiting", hung, trial.hangingServer},
		{"a caller that waits while the wire is cut gets the lock when it is mended", wired, trial.deafWaiter},
	}
}

// wiredPair opens a client behind a wire and one with a way of its own.
func (c trial) wiredPair(s Settings) (one Client, wire *Wire, two Client) {
	c.Helper()
	return c.wiredPairOf(s, s)
}

// wiredPairOf opens them with settings of their own. behind are those of the client behind the wire.
func (c trial) wiredPairOf(behind, own Settings) (one Client, wire *Wire, two Client) {
	c.Helper()
	two = c.open(own)
	behind.Wire = new(Wire)
	one = c.open(behind)
	c.release(c.acquire(one)) // what is sent once for a client, or for a key, has been sent
	return one, behind.Wire, two
}

func (c trial) unavailable(what string, err error) {
	c.Helper()
	if !errors.Is(err, lockstrategy.ErrUnavailable) {
		c.Fatalf("%s: got %v, want ErrUnavailable", what, err)
	}
}

func (c trial) releaseRepeated() {
	one, wire, two := c.wiredPair(Settings{Lease: long})
	lease := c.acquire(one)
	wire.Cut()
	c.unavailable("a release over a cut wire", lease.Release(context.Background()))
	if cause := context.Cause(lease.Context()); !errors.Is(cause, context.Canceled) {
		c.Errorf("the released lease ended with %v", cause)
	}
	c.taken(two)
	waiter := c.wait(context.Background(), two)
	wire.Mend()
	c.release(c.granted(waiter))
}

func (c trial) releaseAnswerLost() {
	one, wire, two := c.wiredPair(Settings{Lease: long})
	lease := c.acquire(one)
	if granted := lease.Until(); c.backend.Admin { // what it asks when it has begun to listen has been answered
		c.eventually("it listens", func() bool { return lease.Until().After(granted) })
	}
	wire.LoseNextAnswer()
	c.unavailable("a release whose answer was lost", lease.Release(context.Background()))
	next := c.acquire(two)
	before := one.Sent()
	wire.Mend()
	c.eventually("the release was repeated", func() bool { return one.Sent() > before })
	c.taken(one)
	c.release(next)
}

// acquiredUnanswered lets one acquire, and loses the answer.
func (c trial) acquiredUnanswered() (one Client, wire *Wire, two Client) {
	c.Helper()
	one, wire, two = c.wiredPair(Settings{Lease: long})
	wire.LoseNextAnswer()
	_, err := one.Acquire(c.bounded(), c.key)
	c.unavailable("an acquire whose answer was lost", err)
	return one, wire, two
}

func (c trial) acquireAnswerLost() {
	one, wire, two := c.acquiredUnanswered()
	if c.standing() == 0 {
		c.Fatal("the request was not executed: nothing is tested")
	}
	waiter := c.wait(context.Background(), two)
	wire.Mend()
	c.release(c.granted(waiter))
	c.free(one)
}

func (c trial) acquireCountedOnce() {
	one, wire, two := c.acquiredUnanswered()
	wire.Mend()
	lease := c.acquire(one)
	c.eventually("the server has one owner, that has entered once", func() bool {
		entries := c.backend.Server.Entries(c.T, c.key)
		return len(entries) == 1 && (!strings.Contains(entries[0], " ") || strings.HasSuffix(entries[0], " 1"))
	})
	c.taken(two)
	c.release(lease)
	c.free(two)
}

func (c trial) hangingServer() {
	one, wire, two := c.wiredPairOf(Settings{Lease: long, Request: short}, Settings{Lease: long}) // the second waits for a busy server
	var lease *lockstrategy.Lease
	var err error
	c.eventually("a server that is not too busy grants it", func() bool {
		lease, err = one.Acquire(c.bounded(), c.key)
		return err == nil
	})
	wire.Hang()
	_, err = one.Acquire(c.bounded(), c.key+"-b")
	c.unavailable("an acquire over a wire that hangs", err)
	c.unavailable("a release over a wire that hangs", lease.Release(context.Background()))
	waiter := c.wait(context.Background(), two)
	wire.Mend()
	c.release(c.granted(waiter))
	c.grantedAgain(one)
}

func (c trial) deafWaiter() {
	one, wire, two := c.wiredPair(Settings{Lease: long})
	holder := c.acquire(two)
	before := one.Sent()
	waiter := c.wait(context.Background(), one)
	c.eventually("it waits", func() bool { return one.Sent() > before })
	wire.Cut()
	c.release(holder)
	wire.Mend()
	if g := <-waiter; g.err == nil {
		c.release(g.lease)
	} else if !errors.Is(g.err, lockstrategy.ErrUnavailable) { // it asked while the wire was cut, and was told so
		c.Errorf("the waiter was not served: %v", g.err)
	}
	c.release(c.acquire(one))
	c.free(two)
}
