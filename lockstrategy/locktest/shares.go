package locktest

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"locklab/lockstrategy"
)

func shares() []promise {
	return []promise{
		{"no process starves: of 2 with the same demand none has less than half of its share", yields, func(c trial) { c.noneStarves(2) }},
		{"no process starves: of 5 with the same demand none has less than half of its share", yields, func(c trial) { c.noneStarves(5) }},
	}
}

// perTurn is how many leases a process has in a row.
const perTurn = 8

// noneStarves lets every process want the lock all the time. A process that is notified late is overtaken, by a turn
// each time; on a busy machine that happens. In a bubble it does not: see TestAProcessYieldsAfterItsTurn.
func (c trial) noneStarves(processes int) {
	var clients []lockstrategy.Strategy
	for range processes {
		clients = append(clients, c.open(Settings{Lease: long, HandOff: lockstrategy.HandOff{Count: perTurn, Time: long}}))
	}
	var mu sync.Mutex
	early := make(map[int]bool) // processes that have had a lease
	grants := make([]int, processes)
	left := processes * 60 * perTurn // grants that are counted, from when each process has had one
	enough := errors.New("all are counted")
	// There are so many callers that one waits whenever a turn could go on, however slow the machine.
	err := compete(context.Background(), c.key, clients, 2*perTurn, math.MaxInt, func(process int, _ *lockstrategy.Lease) error {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case len(early) < processes:
			early[process] = true
		case left > 0:
			grants[process]++
			left--
		default:
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		c.Error(err)
	}
	if slices.Min(grants) < 30*perTurn {
		c.Errorf("shares of %v: one has less than half", grants)
	}
}
