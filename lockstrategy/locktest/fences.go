package locktest

import (
	"context"
	"sync"

	"locklab/lockstrategy"
)

func fences() []promise {
	return []promise{
		{"fences grow over hand-offs, processes, and a lost counter", fenced, trial.fencesGrow},
		{"a lease that is handed off has the next fence", fenced, trial.fenceHandedOff},
		{"fences grow over a lock that was freed by force", func(b Backend) bool { return b.Fenced && b.Admin }, trial.fenceAfterForce},
		{"a strategy without fences says 0", func(b Backend) bool { return !b.Fenced }, trial.noFence},
	}
}

// A fence is noted under the lock, so the notes are in the order of the leases.
func (c trial) fencesGrow() {
	const processes, callers, turns = 3, 4, 15
	var mu sync.Mutex
	var last uint64
	grants := 0
	note := func(fence uint64) {
		mu.Lock()
		defer mu.Unlock()
		if fence <= last {
			c.Errorf("grant %d has fence %d after %d", grants, fence, last)
		}
		last = fence
		if grants++; grants%10 == 0 { // the counter expired, or a failover lost it
			c.backend.Server.ForgetFence(c.T, c.key)
		}
	}
	var all sync.WaitGroup
	for range processes {
		client := c.open(Settings{Lease: long, HandOff: lockstrategy.HandOff{Count: 3}})
		for range callers {
			all.Go(func() {
				for range turns {
					lease, err := client.Acquire(context.Background(), c.key, lockstrategy.WaitAtMost(patience))
					if err != nil {
						c.Error(err)
						return
					}
					note(lease.FencingToken())
					if err := lease.Release(context.Background()); err != nil {
						c.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	if want := processes * callers * turns; grants != want {
		c.Errorf("%d grants, want %d", grants, want)
	}
}

func (c trial) fenceHandedOff() {
	client := c.open(Settings{Lease: long, HandOff: lockstrategy.HandOff{Count: 100, Time: long}})
	first := c.acquire(client)
	waiter := c.wait(context.Background(), client)
	c.waiters(client, 1)
	c.release(first)
	second := c.granted(waiter)
	if second.FencingToken() != first.FencingToken()+1 {
		c.Errorf("fence %d was followed by %d", first.FencingToken(), second.FencingToken())
	}
	c.release(second)
	if third := c.acquire(client); third.FencingToken() <= second.FencingToken() {
		c.Errorf("fence %d was followed by %d", second.FencingToken(), third.FencingToken())
	} else {
		c.release(third)
	}
}

func (c trial) fenceAfterForce() {
	one, two := c.pair(Settings{Lease: long})
	var last uint64
	for i := range 10 {
		lease := c.acquire([]Client{one, two}[i%2])
		if lease.FencingToken() <= last {
			c.Errorf("fence %d was followed by %d", last, lease.FencingToken())
		}
		last = lease.FencingToken()
		c.force(two, true)
		_ = lease.Release(context.Background()) // its loss is not told yet
	}
}

func (c trial) noFence() {
	lease := c.acquire(c.open(Settings{Lease: long}))
	if lease.FencingToken() != 0 {
		c.Errorf("it says %d", lease.FencingToken())
	}
	c.release(lease)
}
