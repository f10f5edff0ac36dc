package anatomy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy/localqueue"
	"locklab/versions"
)

var L14 = Experiments.Add(lab.Experiment{
	ID:       "L14-fairness",
	Articles: lab.Articles{"A1"},
	Claim:    "Without a queue a waiter can starve; with a queue in each process, and turns between the processes, the shares are even.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Alone: true, Takes: 5 * time.Second},
	Check:    unfair,
	Variants: []lab.Variant{
		{Name: "Redis lock, one process", Run: contend(1, queued)},
		{Name: "Redis lock, two processes", Run: contend(2, queued)},
		{Name: "SET NX PX, without a queue", Expect: lab.Sometimes, Run: contend(contenders, unqueued)},
	},
})

const (
	contenders = 8
	grants     = 200
	section    = 2 * time.Millisecond
	fairLease  = 10 * time.Second
)

// open opens a lock for a process.
type open func(t *lab.Trial, conn redis.UniversalClient, name string) *clients.Client

// queued is the Redis lock. Its hand-off inside a process is shorter than by default: so each process holds the lock many
// times, which can be counted.
func queued(t *lab.Trial, conn redis.UniversalClient, name string) *clients.Client {
	handOff := localqueue.HandOff{Count: contenders, Time: 10 * section}
	return clients.Open(t, name, versions.NameRedis, versions.Backends{Redis: conn, Expiry: fairLease, HandOff: handOff})
}

func unqueued(t *lab.Trial, conn redis.UniversalClient, name string) *clients.Client {
	return clients.NewPolling(t, name, clients.PollingSET(conn, name, 50*section, fairLease))
}

// contend lets the clients, spread evenly over so many processes, take the lock until it was granted often enough.
func contend(processes int, open open) lab.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		var all []*clients.Client
		for p := range processes {
			lock := open(x.Trial, x.Conn, fmt.Sprintf("process %d", p+1)).Lock
			for c := range contenders / processes {
				all = append(all, clients.NewClient(x.Trial, fmt.Sprintf("%c%d", 'A'+p, c+1), lock))
			}
		}
		x.Must(repeat(ctx, all))
		s := sharesOf(x.Events())
		x.Measure("lab", int64(1000*s.jain), lab.Thousandths.Of("Jain's index"))
		x.Measure("lab", s.longest.Microseconds(), lab.Microseconds.Of("of the longest wait"))
		x.Measure("lab", int64(s.passed), lab.Count.Of("grants to others during one wait, at most"))
	})
}

// repeat lets clients take the lock again and again, until it was granted often enough. The clients that wait then are not
// served.
func repeat(ctx context.Context, all []*clients.Client) error {
	enough := errors.New("the lock was granted often enough")
	group, waiting := errgroup.WithContext(ctx) // it ends the waits
	var granted atomic.Int64
	for _, c := range all {
		group.Go(func() error {
			for {
				h, err := c.TryAcquire(waiting)
				if err != nil {
					return err
				}
				last := granted.Add(1) >= grants
				time.Sleep(section)
				if err := h.TryRelease(ctx); err != nil {
					return err
				}
				if last {
					return enough
				}
			}
		})
	}
	if err := group.Wait(); !errors.Is(err, enough) {
		return err
	}
	return nil
}

// shares is how a lock was spread over the clients that requested it.
type shares struct {
	grants  map[string]int // by client; also of those without a grant
	jain    float64        // 1: all have the same; 1/n: one of n has all
	longest time.Duration  // the longest wait; of a client that was not served, until the end
	passed  int            // how often others were served during one wait, at most
	starved []int          // the events of that wait: the request, the last grants to others, its own grant if there was one
}

// sharesOf reads the grants of a history.
func sharesOf(trial []history.Event) shares {
	s := shares{grants: make(map[string]int)}
	waits := make(map[string]history.Event) // by client: its request
	others := make(map[string][]int)        // by client: the grants to others meanwhile
	var end time.Duration
	for _, e := range trial {
		switch e.Kind {
		case history.Request:
			s.grants[e.Timeline] += 0
			waits[e.Timeline], others[e.Timeline] = e, nil
		case history.Grant:
			for client := range waits {
				if client != e.Timeline {
					others[client] = append(others[client], e.Seq)
				}
			}
			s.grants[e.Timeline]++
			end = e.At
			s.waited(waits[e.Timeline], others[e.Timeline], e.At, e.Seq)
			delete(waits, e.Timeline)
		}
	}
	for _, client := range slices.Sorted(maps.Keys(waits)) {
		s.waited(waits[client], others[client], end)
	}
	s.jain = jain(slices.Collect(maps.Values(s.grants)))
	return s
}

// waited adds a wait that began with request.
func (s *shares) waited(request history.Event, others []int, until time.Duration, grant ...int) {
	s.longest = max(s.longest, until-request.At)
	if len(others) > s.passed {
		s.passed = len(others)
		s.starved = slices.Concat([]int{request.Seq}, others[max(0, len(others)-10):], grant)
	}
}

// jain is Jain's index: (Σx)² / n·Σx².
func jain(all []int) float64 {
	sum, squares := 0, 0
	for _, x := range all {
		sum, squares = sum+x, squares+x*x
	}
	if squares == 0 {
		return 1
	}
	return float64(sum*sum) / float64(len(all)*squares)
}

// unfair finds shares that are not even.
func unfair(trial []history.Event) []history.Violation {
	const even = 0.9
	s := sharesOf(trial)
	if s.jain >= even {
		return nil
	}
	most := slices.Max(slices.Collect(maps.Values(s.grants)))
	what := "Jain's index is %.2f. One of %d clients held the lock %d times. One client waited while others were granted it %d times"
	return []history.Violation{{What: fmt.Sprintf(what, s.jain, len(s.grants), most, s.passed), Events: s.starved}}
}
