package locktest

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
)

func handOffs() []promise {
	return []promise{
		{"a lease is handed off without a request to the server", all(shared, queued), trial.handsOff},
		{"HandOff.Count 1: every lease goes back to the server", all(shared, queued), func(c trial) {
			c.handsNothingOff(localqueue.HandOff{Count: 1})
		}},
		{"HandOff.Time over: every lease goes back to the server", all(shared, queued), func(c trial) {
			c.handsNothingOff(localqueue.HandOff{Count: 1 << 30, Time: time.Nanosecond})
		}},
		{"HandOff.Count leases in a row, then the key goes back to the server", all(shared, queued), trial.handsBack},
		{"a process hands off Count leases in a row although another waits", yields, trial.handsOffCount},
		{"a caller that asks for a lease of its own takes none that was another's", queued, trial.handsOffNoTerms},
		{"a process that leaves while it waits stops nobody", shared, trial.processLeaves},
		{"a process that leaves while it is notified stops nobody", shared, trial.processLeavesNotified},
		{"a process that dies while it waits stops nobody", shared, trial.processDies},
	}
}

// turns lets n callers of client wait, releases first, and returns how many commands all of their turns took.
func (c trial) turns(client Client, n int) int {
	c.Helper()
	first := c.acquire(client)
	var waiters []<-chan grant
	for range n {
		waiters = append(waiters, c.waitQueued(context.Background(), client))
	}
	before := client.Sent()
	c.release(first)
	c.serveAll(waiters)
	c.eventually("the key is free", func() bool { return c.standing() == 0 })
	return client.Sent() - before
}

func (c trial) handsOff() {
	const waiters = 20
	client := c.open(Settings{Lease: long, HandOff: localqueue.HandOff{Count: 2 * waiters, Time: long}})
	c.turns(client, 1) // what is done once is done
	// The last one's release, and a word or two of upkeep. RedLock's are one per node, and are told.
	if sent, most := c.turns(client, waiters), waiters; sent >= most {
		c.Errorf("%d hand-offs took %d commands", waiters, sent)
	}
}

func (c trial) handsNothingOff(bounds localqueue.HandOff) {
	const waiters = 20
	client := c.open(Settings{Lease: long, HandOff: bounds})
	if sent := c.turns(client, waiters); sent < 2*waiters {
		c.Errorf("%d leases took %d commands, want one to acquire and one to release each", waiters, sent)
	}
}

func (c trial) handsBack() {
	const count, waiters = 4, 16 // and the first holder: four times in between the key goes back
	client := c.open(Settings{Lease: long, HandOff: localqueue.HandOff{Count: count, Time: long}})
	one := math.MaxInt // what one lease costs, without what is sent once for a client, for a key, or because a node was late
	for range 4 {
		before := client.Sent()
		c.release(c.acquire(client))
		c.eventually("the key is free", func() bool { return c.standing() == 0 })
		one = min(one, client.Sent()-before)
	}
	// A strategy over five servers may leave out a command to one that is late.
	if sent, least := c.turns(client, waiters), waiters/count*one-one/5; sent < least {
		c.Errorf("%d leases, %d in a row, took %d commands, want at least %d", 1+waiters, count, sent, least)
	}
}

func (c trial) handsOffCount() {
	const count, waiters = 4, 10
	settings := Settings{Lease: long, HandOff: localqueue.HandOff{Count: count, Time: long}}
	one, two := c.open(settings), c.open(settings)
	first := c.acquire(one)
	waits := []<-chan grant{c.waitListening(context.Background(), two)}
	for range waiters {
		waits = append(waits, c.waitQueued(context.Background(), one))
	}
	c.release(first)
	order := c.serveAll(waits)
	// On a busy machine the other may be notified so late that one has a second turn. In a bubble it has none: see
	// TestAProcessYieldsAfterItsTurn.
	if before := slices.Index(order, 0); before < count-1 {
		c.Errorf("they came in the order %v: the other process after %d leases, want at least %d", order, before, count-1)
	}
}

func (c trial) handsOffNoTerms() {
	client := c.open(Settings{Lease: long, HandOff: localqueue.HandOff{Count: 100, Time: long}})
	lease := c.acquire(client)
	waiter := c.waitQueued(context.Background(), client, lockstrategy.LeaseFor(3*short))
	behind := c.waitQueued(context.Background(), client)
	c.release(lease)
	c.lost(c.granted(waiter), lockstrategy.ErrExpired)
	c.release(c.granted(behind))
}

// line lets n processes with a lease wait for a holder. All of them listen.
func (c trial) line(n int, lease time.Duration) (
	holder *lockstrategy.Lease, clients []Client, waiters []<-chan grant, leave []context.CancelFunc,
) {
	c.Helper()
	holder = c.acquire(c.open(Settings{Lease: long}))
	for range n {
		ctx, cancel := context.WithCancel(context.Background())
		c.Cleanup(cancel)
		client := c.open(Settings{Lease: lease})
		c.warm(client)
		clients, leave = append(clients, client), append(leave, cancel)
		waiters = append(waiters, c.waitListening(ctx, client))
	}
	return holder, clients, waiters, leave
}

// serveAll releases what each waiter gets, and returns the order in which they got it.
func (c trial) serveAll(waiters []<-chan grant) (order []int) {
	c.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, waiter := range waiters {
		all.Go(func() {
			g := <-waiter
			if g.err != nil {
				c.Errorf("waiter %d was not served: %v", i, g.err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			time.Sleep(time.Microsecond) // no work takes no time; in a bubble it would, and the shortest HandOff.Time would not be over
			if err := g.lease.Release(context.Background()); err != nil {
				c.Error(err)
			}
		})
	}
	all.Wait()
	return order
}

func (c trial) processLeaves() {
	holder, _, waiters, leave := c.line(3, long)
	leave[0]()
	if g := <-waiters[0]; g.err == nil {
		c.Fatal("it left, and got the lock")
	}
	c.release(holder)
	c.serveAll(waiters[1:])
}

func (c trial) processLeavesNotified() {
	holder, _, waiters, leave := c.line(3, long)
	go leave[0]()
	c.release(holder)
	if g := <-waiters[0]; g.err == nil { // it got the lock before it left
		c.release(g.lease)
	}
	c.serveAll(waiters[1:])
}

func (c trial) processDies() {
	lease := long
	if c.backend.Queues || c.backend.Polls {
		lease = 3 * short
	}
	holder, clients, waiters, leave := c.line(3, lease)
	clients[0].Crash()
	c.release(holder)
	c.serveAll(waiters[1:])
	leave[0]()
	<-waiters[0]
}
