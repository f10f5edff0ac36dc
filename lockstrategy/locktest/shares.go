package locktest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"locklab/lockstrategy"
)

func shares() []promise {
	var all []promise
	for _, processes := range []int{2, 5} {
		all = append(all, promise{
			fmt.Sprintf("no process starves: of %d with the same demand none has less than half of its share", processes), yields,
			func(c trial) { c.noneStarves(processes) },
		})
	}
	return all
}

// tally counts the grants of each process, from when each has had one.
type tally struct {
	mu       sync.Mutex
	early    map[int]bool // processes that have had one
	grants   []int
	goal     int
	finished bool
}

// note counts a grant, and reports whether it was the last.
func (y *tally) note(process int) (last bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.early) < len(y.grants) {
		y.early[process] = true
		return false
	}
	if !y.finished {
		y.grants[process]++
		y.goal--
		y.finished = y.goal <= 0
	}
	return y.finished
}

// noneStarves lets every process want the lock all the time. A process that is notified late is overtaken, by a turn
// each time; on a busy machine that happens. In a bubble it does not: see TestAProcessYieldsAfterItsTurn.
func (c trial) noneStarves(processes int) {
	if grants := c.shares(processes); slices.Min(grants) < 30*perTurn {
		c.Errorf("shares of %v: one has less than half", grants)
	}
}

// perTurn is how many leases a process has in a row.
const perTurn = 8

// shares is how often each process has the lock.
func (c trial) shares(processes int) []int {
	y := &tally{early: make(map[int]bool), grants: make([]int, processes), goal: processes * 60 * perTurn}
	settings := Settings{Lease: long, HandOff: lockstrategy.HandOff{Count: perTurn, Time: long}}
	var all sync.WaitGroup
	for p := range processes {
		client := c.open(settings)
		for range 2 * perTurn { // so that somebody waits whenever a turn could go on, however slow the machine
			all.Go(func() { c.demand(client, y, p) })
		}
	}
	all.Wait()
	return y.grants
}

// demand wants the lock again and again, until the tally is finished.
func (c trial) demand(client Client, y *tally, process int) {
	for last := false; !last; {
		lease, err := client.Acquire(context.Background(), c.key, lockstrategy.WaitAtMost(patience))
		if err == nil {
			last = y.note(process)
			err = lease.Release(context.Background())
		}
		if err != nil {
			c.Error(err)
			return
		}
	}
}
