package locktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"locklab/lockstrategy"
)

func handOffs() []promise {
	return []promise{
		{"a lease is handed off without a word to the server", served, trial.handsOff},
		{"HandOff.Count 1: every lease goes back to the server", served, func(c trial) {
			c.handsNothingOff(lockstrategy.HandOff{Count: 1})
		}},
		{"HandOff.Time over: every lease goes back to the server", served, func(c trial) {
			c.handsNothingOff(lockstrategy.HandOff{Count: 1 << 30, Time: time.Nanosecond})
		}},
		{"HandOff.Count leases in a row, then the key goes back to the server", served, trial.handsBack},
		{"a process hands off at most Count leases in a row, then another has its turn", fair, trial.handsOffCount},
		{"a waiter with terms of its own takes no lease that was another's", everybody, trial.handsOffNoTerms},
		{"the process that has waited longest goes first", fair, trial.processesInOrder},
		{"a process that leaves the queue passes on its turn", fair, trial.processLeaves},
		{"a process that leaves while it is called passes on its turn", fair, trial.processLeavesCalled},
		{"a process that dies in the queue does not stop those behind it", fair, trial.processDies},
	}
}

// turns lets n callers of client wait, releases first, and returns how many commands all of their turns took.
func (c trial) turns(client Client, n int) int {
	c.Helper()
	first := c.acquire(client)
	var all sync.WaitGroup
	for i := range n {
		waiter := c.wait(context.Background(), client)
		all.Go(func() {
			if g := <-waiter; g.err != nil {
				c.Error(g.err)
			} else if err := g.lease.Release(context.Background()); err != nil {
				c.Error(err)
			}
		})
		c.waiters(client, i+1)
	}
	before := client.Sent()
	c.release(first)
	all.Wait()
	c.eventually("the key is free", func() bool { return c.standing() == 0 })
	return client.Sent() - before
}

func (c trial) handsOff() {
	const waiters = 20
	client := c.open(Settings{Lease: long, HandOff: lockstrategy.HandOff{Count: 2 * waiters, Time: long}})
	c.turns(client, 1) // what is done once is done
	// The last one's release, and a word or two of upkeep. RedLock's are one per node, and are told.
	if sent, most := c.turns(client, waiters), waiters; sent >= most {
		c.Errorf("%d hand-offs took %d commands", waiters, sent)
	}
}

func (c trial) handsNothingOff(bounds lockstrategy.HandOff) {
	const waiters = 20
	client := c.open(Settings{Lease: long, HandOff: bounds})
	if sent := c.turns(client, waiters); sent < 2*waiters {
		c.Errorf("%d leases took %d commands, want one to acquire and one to release each", waiters, sent)
	}
}

func (c trial) handsBack() {
	const count, waiters = 4, 16 // and the first holder: four times in between the key goes back
	client := c.open(Settings{Lease: long, HandOff: lockstrategy.HandOff{Count: count, Time: long}})
	c.warm(client)
	before := client.Sent()
	c.release(c.acquire(client))
	one := client.Sent() - before // what one lease costs
	if sent, least := c.turns(client, waiters), waiters/count*one; sent < least {
		c.Errorf("%d leases, %d in a row, took %d commands, want at least %d", 1+waiters, count, sent, least)
	}
}

func (c trial) handsOffCount() {
	const count, waiters = 4, 10
	settings := Settings{Lease: long, HandOff: lockstrategy.HandOff{Count: count, Time: long}}
	one, two := c.open(settings), c.open(settings)
	lease := c.acquire(one)
	other := c.wait(context.Background(), two)
	c.queued(1)
	var line []<-chan grant
	for i := range waiters {
		line = append(line, c.wait(context.Background(), one))
		c.waiters(one, i+1)
	}
	for i := 1; ; i++ { // lease is the i-th in a row
		c.release(lease)
		if i == count {
			break
		}
		lease = c.granted(line[i-1])
	}
	lease = c.granted(other)
	if got := one.Cohort.Waiting(); got < waiters-count { // one of them has the turn, and asks the server
		c.Errorf("%d still wait for their turn, want %d", got, waiters-count)
	}
	c.release(lease)
	for _, waiter := range line[count-1:] {
		c.release(c.granted(waiter))
	}
}

func (c trial) handsOffNoTerms() {
	client := c.open(Settings{Lease: long, HandOff: lockstrategy.HandOff{Count: 100, Time: long}})
	lease := c.acquire(client)
	waiter := c.wait(context.Background(), client, lockstrategy.LeaseFor(short))
	c.waiters(client, 1)
	behind := c.wait(context.Background(), client)
	c.waiters(client, 2)
	c.release(lease)
	c.lost(c.granted(waiter), lockstrategy.ErrExpired)
	c.release(c.granted(behind))
}

// line lets n processes queue up behind a holder, one after the other. All of them listen.
func (c trial) line(n int) (holder *lockstrategy.Lease, clients []Client, waiters []<-chan grant, leave []context.CancelFunc) {
	c.Helper()
	holder = c.acquire(c.open(Settings{Lease: long}))
	for i := range n {
		ctx, cancel := context.WithCancel(context.Background())
		c.Cleanup(cancel)
		client := c.open(Settings{Lease: long})
		c.warm(client)
		before := client.Sent()
		clients, leave = append(clients, client), append(leave, cancel)
		waiters = append(waiters, c.wait(ctx, client))
		c.queued(i + 1)
		// Who begins to listen tries once more.
		c.eventually("it listens", func() bool { return client.Sent() >= before+2 })
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
			if err := g.lease.Release(context.Background()); err != nil {
				c.Error(err)
			}
		})
	}
	all.Wait()
	return order
}

// A process that oversleeps its call by a tenth of a second is overtaken; it will not do so every time.
func (c trial) processesInOrder() {
	var orders [][]int
	for range 3 {
		holder, _, waiters, _ := c.line(4)
		c.release(holder)
		order := c.serveAll(waiters)
		if slices.IsSorted(order) {
			return
		}
		orders = append(orders, order)
	}
	c.Errorf("they came in the orders %v", orders)
}

func (c trial) processLeaves() {
	holder, _, waiters, leave := c.line(3)
	leave[0]()
	if g := <-waiters[0]; g.err == nil {
		c.Fatal("it left, and got the lock")
	}
	c.queued(2)
	c.release(holder)
	c.serveAll(waiters[1:])
}

func (c trial) processLeavesCalled() {
	holder, _, waiters, leave := c.line(3)
	go leave[0]()
	c.release(holder)
	if g := <-waiters[0]; g.err == nil { // it got the lock before it left
		c.release(g.lease)
	}
	c.serveAll(waiters[1:])
}

func (c trial) processDies() {
	holder, clients, waiters, leave := c.line(3)
	clients[0].Crash()
	c.release(holder)
	c.serveAll(waiters[1:])
	leave[0]()
	<-waiters[0]
}
