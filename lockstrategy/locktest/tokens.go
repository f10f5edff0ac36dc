package locktest

import (
	"context"
	"sync"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
)

func tokens() []promise {
	return []promise{
		{"fencing tokens grow over holders, processes, and a lost counter", fenced, trial.tokensGrow},
		{"a lease that is handed off has the next fencing token", all(fenced, queued), trial.tokenHandedOff},
		{"a strategy without fencing tokens says 0", func(b Backend) bool { return !b.Fenced }, trial.noToken},
	}
}

// A token is noted under the lock, so the notes are in the order of the leases.
func (c trial) tokensGrow() {
	var clients []lockstrategy.Strategy
	for range 3 {
		clients = append(clients, c.open(Settings{Lease: long, HandOff: localqueue.HandOff{Count: 3}}))
	}
	var mu sync.Mutex
	var last uint64
	grants := 0
	err := compete(context.Background(), c.key, clients, 4, 10, func(_ int, lease *lockstrategy.Lease) error {
		mu.Lock()
		defer mu.Unlock()
		token := lease.FencingToken()
		if token <= last {
			c.Errorf("grant %d has token %d after %d", grants, token, last)
		}
		last = token
		// In a bubble work takes no time, and where its counter is lost a token is the server's time, in steps of 32 µs.
		time.Sleep(50 * time.Microsecond)
		if grants++; grants%10 == 0 && c.backend.Server.ForgetToken != nil { // the counter expired, or a failover lost it
			c.backend.Server.ForgetToken(c.T, c.key)
		}
		return nil
	})
	if err != nil {
		c.Error(err)
	}
}

func (c trial) tokenHandedOff() {
	client := c.open(Settings{Lease: long, HandOff: localqueue.HandOff{Count: 100, Time: long}})
	first := c.acquire(client)
	waiter := c.waitQueued(context.Background(), client)
	c.release(first)
	second := c.granted(waiter)
	if second.FencingToken() != first.FencingToken()+1 {
		c.Errorf("token %d was followed by %d", first.FencingToken(), second.FencingToken())
	}
	c.release(second)
	third := c.acquire(client)
	if third.FencingToken() <= second.FencingToken() {
		c.Errorf("token %d was followed by %d", second.FencingToken(), third.FencingToken())
	}
	c.release(third)
}

func (c trial) noToken() {
	lease := c.acquire(c.open(Settings{Lease: long}))
	if lease.FencingToken() != 0 {
		c.Errorf("it says %d", lease.FencingToken())
	}
	c.release(lease)
}
