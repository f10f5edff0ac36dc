package claims

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/lockstrategy"
)

var _ = register(experiments.Experiment{
	ID:      "L14-fairness",
	Article: "A1",
	Claim:   "Without a queue a waiter can starve; with one the shares are even, inside a process and between processes.",
	Says:    "Three ways to wait are told apart by the requests that they make; who comes next is not spoken of.",
	Drawing: `
without a queue   A  ├─┤├─┤├─┤├─┤├─┤├─┤├─┤      takes it again at once
                  B  ?       ?       ?          finds it taken whenever it wakes
with a queue      A  ├─┤   ├─┤   ├─┤
                  B     ├─┤   ├─┤   ├─┤`,
	How:   "Eight clients want one lock again and again, for two milliseconds each time, until it was granted 200 times. Measured are Jain's index of their shares (1: all the same; 1/8: one has everything), the longest wait, and how often others were served meanwhile; a breach is an index below 0.9. A process is a client of Redis with a gate of its own, for four of them; the pollers sleep for 100 ms between two attempts, and who has released asks again at once.",
	Alone: true,
	Takes: 5 * time.Second,
	Check: unfair,
	Variants: []experiments.Variant{
		{Name: "Redis lock, one process", Run: contend(1, queued)},
		{Name: "Redis lock, two processes", Run: contend(2, queued)},
		{Name: "SET NX PX, without a queue", Expect: experiments.Sometimes, Run: contend(contenders, unqueued)},
	},
})

const (
	contenders = 8
	turns      = 200 // grants
	section    = 2 * time.Millisecond
)

// queued is the Redis lock. A process hands it over inside for less time than it does elsewhere: so there are many turns
// of each process to be counted.
func queued(t *experiments.Trial, client redis.UniversalClient, _ string) (lockstrategy.Strategy, error) {
	return opened(t, lockstrategy.NameRedis, lockstrategy.Backends{
		Redis: client, Lease: ampleLease, HandOff: lockstrategy.HandOff{Count: contenders, Time: 10 * section},
	})
}

func unqueued(_ *experiments.Trial, client redis.UniversalClient, name string) (lockstrategy.Strategy, error) {
	return lockstrategy.NewCohort(poller{redis: client, name: name, pause: 50 * section, lease: ampleLease}, lockstrategy.HandOff{})
}

// contend lets the clients, spread evenly over so many processes, take the lock until it was granted often enough.
func contend(processes int, open open) func(context.Context, *experiments.Trial) error {
	return func(ctx context.Context, t *experiments.Trial) error {
		_, redis, err := single(ctx, t)
		if err != nil {
			return err
		}
		var clients []*client
		for p := range processes {
			strategy, err := open(t, redis, fmt.Sprintf("process %d", p+1))
			if err != nil {
				return err
			}
			for c := range contenders / processes {
				clients = append(clients, newClient(t, fmt.Sprintf("%c%d", 'A'+p, c+1), strategy))
			}
		}
		if err := insist(ctx, clients); err != nil {
			return err
		}
		s := sharesOf(t.Events())
		measure(t, "lab", int64(1000*s.jain), "Jain's index, in thousandths")
		measure(t, "lab", s.longest.Microseconds(), "µs, the longest wait")
		measure(t, "lab", int64(s.passed), "grants to others during one wait, at most")
		return nil
	}
}

// insist lets clients take the lock again and again, until it was granted often enough. What waits then is not served.
func insist(ctx context.Context, clients []*client) error {
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	var granted atomic.Int64
	var running sync.WaitGroup
	failed := make([]error, len(clients))
	for i, c := range clients {
		running.Go(func() {
			for granted.Load() < turns {
				h, err := c.acquire(waiting)
				if err != nil {
					failed[i] = err
					break
				}
				last := granted.Add(1) >= turns
				time.Sleep(section)
				failed[i] = h.release(ctx)
				if last {
					enough()
				}
			}
		})
	}
	running.Wait()
	if granted.Load() >= turns {
		return ctx.Err() // the others were sent away
	}
	return errors.Join(failed...)
}
