package locktest

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"locklab/lockstrategy"
	"locklab/lockstrategy/localqueue"
)

func shares() []promise {
	return []promise{
		{"no process starves: of those with the same demand none has less than a quarter of its share", yields, trial.noneStarves},
	}
}

const (
	processes = 3
	perTurn   = 8  // leases that a process has in a row
	turnsEach = 30 // that a process would have of equal shares
)

// noneStarves lets every process want the lock all the time, for a millisecond each time. A process that is notified late is overtaken, by
// a turn each time; on a busy machine that happens.
func (c trial) noneStarves() {
	var clients []lockstrategy.Strategy
	for range processes {
		clients = append(clients, c.open(Settings{Lease: long, HandOff: localqueue.HandOff{Count: perTurn, Time: long}}))
	}
	var mu sync.Mutex
	early := make(map[int]bool) // processes that have had a lease
	grants := make([]int, processes)
	left := processes * turnsEach * perTurn // grants that are counted, from when each process has had one
	enough := errors.New("all are counted")
	// There are so many callers that one waits whenever a turn could go on, however slow the machine.
	err := compete(context.Background(), c.key, clients, 2*perTurn, math.MaxInt, func(process int, _ *lockstrategy.Lease) error {
		time.Sleep(time.Millisecond) // the work
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
	if slices.Min(grants) < turnsEach/4*perTurn {
		c.Errorf("shares of %v: one has less than a quarter", grants)
	}
}
