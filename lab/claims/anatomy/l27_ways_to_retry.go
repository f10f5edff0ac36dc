package anatomy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy"
)

var L27 = Experiments.Add(lab.Experiment{
	ID:       "L27-ways-to-retry",
	Articles: lab.Articles{"A1"},
	Claim: `
		When many processes wait for one lock, equal pauses and messages let all of them ask for each grant. Jitter needs fewer requests,
		and a queue in the process hardly any.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.RedisServer}, Alone: true, Takes: 25 * time.Second},
	Check:    herds,
	Curve:    lab.Curve{Variant: allWays, X: crowdRequests, Y: crowdWait, Line: fixedPause},
	Variants: []lab.Variant{
		{Name: "a queue in one process", Run: compared(oneQueue)},
		{Name: "a queue in each of 5 processes", Run: compared(fiveQueues)},
		{Name: "backoff with jitter", Run: compared(jitter)},
		{Name: "a fixed pause", Expect: lab.Sometimes, Run: compared(fixed(10))},
		{Name: "backoff without jitter", Expect: lab.Sometimes, Run: compared(noJitter)},
		{Name: "a message, without a queue", Expect: lab.Sometimes, Run: compared(toAll)},
		{
			Name: allWays, Expect: lab.Sometimes, Trials: 2, Slow: true,
			Run: compared(fixed(1), fixed(5), fixed(10), fixed(20), noJitter, jitter, toAll, fiveQueues, oneQueue),
		},
	},
})

const (
	crowd        = 50 // clients; each takes the lock once
	crowdSection = 2 * time.Millisecond
	firstPause   = 4 * time.Millisecond
	longestPause = 64 * time.Millisecond

	fixedPause = "fixed pause" // with which the names of some timelines begin
	allWays    = "all ways"
)

var (
	crowdRequests = lab.Count.Of("requests")
	crowdWait     = lab.Microseconds.Of("of the longest wait")
)

// crowdWay is how the clients of a crowd wait for a lock, which is v3's in each case.
type crowdWay struct {
	name      string
	pause     func(refused int) time.Duration // after so many refusals before this one; nil: the client waits for a message
	processes int                             // with a queue each; 0: each client is a process of its own, without a queue
}

var (
	oneQueue   = crowdWay{name: "1 queue", processes: 1}
	fiveQueues = crowdWay{name: "5 queues", processes: 5}
	noJitter   = crowdWay{name: "backoff", pause: backoff}
	jitter     = crowdWay{name: "full jitter", pause: fullJitter}
	toAll      = crowdWay{name: byMessage}
)

func fixed(ms time.Duration) crowdWay {
	return crowdWay{name: fmt.Sprintf("%s %d ms", fixedPause, ms), pause: func(int) time.Duration { return ms * time.Millisecond }}
}

// backoff doubles with each refusal.
func backoff(refused int) time.Duration { return min(firstPause<<min(refused, 10), longestPause) }

// fullJitter is any time up to the backoff.
func fullJitter(refused int) time.Duration { return rand.N(backoff(refused)) }

// inStep is how many attempts it takes if all that wait ask for each grant.
const inStep = crowd * (crowd + 1) / 2

// herds finds the ways that needed more requests than half of that.
func herds(trial []history.Event) (found []history.Violation) {
	for _, e := range trial {
		if crowdRequests.In(e) && e.Value > inStep/2 {
			what := fmt.Sprintf("%s: %d requests for %d grants. If all that wait ask for each grant, they make %d attempts",
				e.Timeline, e.Value, crowd, inStep)
			found = append(found, history.Violation{What: what, Events: []int{e.Seq}})
		}
	}
	return found
}

// compared measures ways one after the other.
func compared(ways ...crowdWay) lab.Scenario {
	return clients.OnRedis(func(ctx context.Context, x *clients.Redis) {
		x.ByChance() // clients get out of step on a busy machine
		for _, w := range ways {
			w.measure(ctx, x)
		}
	})
}

// measure lets all clients ask at the same moment.
func (w crowdWay) measure(ctx context.Context, x *clients.Redis) {
	var ready sync.WaitGroup
	locks, start, waits := w.open(ctx, x), make(chan struct{}), make([]time.Duration, crowd)
	ready.Add(crowd)
	before := clients.Requests(ctx, x.Trial, x.Conn, sentByRedisLock...)
	wait := x.GoEach(crowd, func(i int) {
		ready.Done()
		<-start
		asked := x.Now()
		lease, err := locks[i].Acquire(ctx, w.key())
		x.Must(err)
		waits[i] = x.Now() - asked
		time.Sleep(x.Scaled(crowdSection))
		x.Must(lease.Release(ctx))
	})
	ready.Wait()
	began := x.Now()
	close(start)
	wait()
	took := x.Now() - began
	var micros []int
	for _, wait := range waits {
		micros = append(micros, int(wait.Microseconds()))
	}
	x.Measure(w.name, clients.Requests(ctx, x.Trial, x.Conn, sentByRedisLock...)-before, crowdRequests)
	x.Measure(w.name, slices.Max(waits).Microseconds(), crowdWait)
	x.Measure(w.name, took.Microseconds(), lab.Microseconds.Of("until all are through"))
	x.Measure(w.name, int64(1000*jain(micros)), lab.Thousandths.Of("Jain's index of the waits"))
}

func (w crowdWay) key() string { return "lock:" + w.name }

// open returns the lock of each client. Each process has a connection of its own, and has used its lock once, so that its scripts are on
// the server.
func (w crowdWay) open(ctx context.Context, x *clients.Redis) (all []lockstrategy.Strategy) {
	for len(all) < crowd {
		process := clients.RedisLock(x.Trial, w.name, clients.Dial(x.Trial, x.Node.Addr), clients.LongLease)
		lease, err := process.Admin.Acquire(ctx, w.key())
		x.Must(err)
		x.Must(lease.Release(ctx))
		switch bare := process.Admin; {
		case w.processes > 0:
			all = append(all, slices.Repeat([]lockstrategy.Strategy{process.Lock}, crowd/w.processes)...)
		case w.pause != nil:
			all = append(all, retrying{bare, func(refused int) time.Duration { return x.Scaled(w.pause(refused)) }})
		default:
			all = append(all, bare)
		}
	}
	return all
}

// retrying asks for a lock again and again, with a pause after each refusal.
type retrying struct {
	lock  lockstrategy.Strategy
	pause func(refused int) time.Duration
}

// Acquire implements [lockstrategy.Strategy]. It has no options.
func (r retrying) Acquire(ctx context.Context, key string, _ ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	for refused := 0; ; refused++ {
		lease, err := r.lock.Acquire(ctx, key, lockstrategy.TryOnce())
		if !errors.Is(err, lockstrategy.ErrTaken) {
			return lease, err
		}
		time.Sleep(r.pause(refused))
	}
}
