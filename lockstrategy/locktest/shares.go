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
	for _, processes := range []int{2, 3, 5} {
		all = append(all, promise{
			fmt.Sprintf("%d processes with the same demand have the same share", processes), fair,
			func(c trial) { c.equalShares(processes) },
		})
	}
	return all
}

// tally counts the grants of each process, from when each has had one.
type tally struct {
	mu       sync.Mutex
	early    map[int]bool // who has had one
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

// equalShares lets every process want the lock all the time. The window may begin and end anywhere in a turn, so
// shares may differ by two turns; another half is for a process that overslept its call. On a busy machine one may
// oversleep more often, but not every time.
func (c trial) equalShares(processes int) {
	const most = perTurn * 5 / 2 // 4 per cent
	var all [][]int
	for range 3 {
		grants := c.shares(processes)
		if slices.Max(grants)-slices.Min(grants) <= most {
			return
		}
		all = append(all, grants)
	}
	c.Errorf("shares of %v differ by more than %d", all, most)
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
