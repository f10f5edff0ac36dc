package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"locklab/experiments"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
	"locklab/topology"
)

var _ = register(experiments.Experiment{
	ID:      "L09-waiting",
	Article: "A1, A3",
	Claim:   "Waiting for a message needs fewer requests than spinning or sleeping, and a shorter wait than sleeping, as long as whoever unlocks sends it.",
	Says:    "There are three ways to wait: spin, which makes many useless requests; sleep and retry, which is hard to tune; and subscribe to the message of the release.",
	Erratum: "A3 describes waiting as a loop that keeps trying; Redisson, which it describes, waits for a message (A1).",
	Drawing: `
          lock held                 free   taken
spin      ? ? ? ? ? ? ? ? ? ? ? ? ? │?!
sleep     ?       ?       ?       ? │       ?!
message   ?  subscribed             │ told ?!`,
	How:   "Two processes, that is clients with a gate of their own, hand one lock to each other: while one works, for five to six pauses of the one that sleeps, the other waits. Each way has a Redis of its own, which is asked for the number of requests (INFO commandstats); the wait is from the release to the next grant, the median. In the second arm the lock is deleted without a word, as A2's listing does: then the message does not come, and the lease is waited for. Only ways of one trial are compared.",
	Needs: []experiments.Need{experiments.RedisServer},
	Alone: true,
	Takes: 8 * time.Second,
	Check: func(trial []history.Event) (found []history.Violation) {
		found = notBelow(trial, requestsUnit, "spin")
		found = append(found, notBelow(trial, requestsUnit, "sleep")...)
		return append(found, notBelow(trial, waitUnit, "sleep")...)
	},
	Variants: []experiments.Variant{
		{Name: "released with a message", Run: threeWays(5, ampleLease, false)},
		{Name: "deleted without a message", Expect: experiments.Sometimes, Run: threeWays(2, deafLease, true)},
	},
})

const (
	pause      = 20 * time.Millisecond // of who sleeps
	ampleLease = 10 * time.Second
	// deafLease is what is waited for when the message does not come: far more than the work.
	deafLease = 500 * time.Millisecond

	requestsUnit = "requests for each lock, in tenths"
	waitUnit     = "µs from the release to the next grant"
)

// notBelow is a finding when the number of who waits for a message is not below another way's.
func notBelow(trial []history.Event, unit, other string) []history.Violation {
	told, ok := measured(trial, "message", unit)
	asked, both := measured(trial, other, unit)
	if !ok || !both || told.Value < asked.Value {
		return nil
	}
	return []history.Violation{{
		What: fmt.Sprintf("%s: %d of message, %d of %s", unit, told.Value, asked.Value, other), Events: []int{told.Seq, asked.Seq},
	}}
}

// threeWays measures the three ways. Who spins keeps the machine busy, and has it alone.
func threeWays(handOvers int, lease time.Duration, deaf bool) func(context.Context, *experiments.Trial) error {
	spin, sleep, message := ways(lease)
	return func(ctx context.Context, t *experiments.Trial) error {
		try := tryout{works: make([]time.Duration, handOvers), deaf: deaf}
		for i := range try.works {
			try.works[i] = 5*pause + time.Duration(t.Rand.Int64N(int64(pause)))
		}
		fewer := tryout{works: try.works[:2], deaf: deaf} // they are enough: every one has thousands of requests
		if err := fewer.measure(ctx, t, spin); err != nil {
			return err
		}
		var group errgroup.Group
		group.Go(func() error { return try.measure(ctx, t, sleep) })
		group.Go(func() error { return try.measure(ctx, t, message) })
		return group.Wait()
	}
}

// ways are A1's three. The lease is that of who waits for a message, and for the lease when none comes.
func ways(lease time.Duration) (spin, sleep, message way) {
	polling := func(pause time.Duration) open {
		return func(_ *experiments.Trial, client redis.UniversalClient, name string) (lockstrategy.Strategy, error) {
			return lockstrategy.NewCohort(poller{redis: client, name: name, pause: pause, lease: ampleLease}, lockstrategy.HandOff{})
		}
	}
	told := func(t *experiments.Trial, client redis.UniversalClient, _ string) (lockstrategy.Strategy, error) {
		return v3(t, client, lease)
	}
	poll := []string{"set", "eval"}
	return way{"spin", polling(0), poll}, way{"sleep", polling(pause), poll},
		way{"message", told, []string{"evalsha", "eval", "subscribe", "ssubscribe", "unsubscribe", "sunsubscribe", "ping"}}
}

// open opens a strategy as a process of its own.
type open func(t *experiments.Trial, client redis.UniversalClient, name string) (lockstrategy.Strategy, error)

// way is a way to wait.
type way struct {
	name string
	open open
	sent []string // the commands with which it locks and waits, as the server calls them
}

// tryout is the same work for all ways.
type tryout struct {
	works []time.Duration // while the other waits
	deaf  bool            // the lock is deleted, and nobody told
}

// measure lets two processes hand the lock to each other.
func (o tryout) measure(ctx context.Context, t *experiments.Trial, w way) error {
	node, err := t.Stack.Redis(ctx, w.name, t.Real)
	if err != nil {
		return err
	}
	redis, err := connect(ctx, t, &stack.Topology{Kind: string(topology.Single), Addrs: []string{node.Addr}})
	if err != nil {
		return err
	}
	var clients [2]*client
	for i := range clients {
		lane := fmt.Sprintf("%s %c", w.name, 'A'+i)
		strategy, err := w.open(t, redis, lane)
		if err != nil {
			return err
		}
		clients[i] = newClient(t, lane, strategy)
		clients[i].key = "lock:" + w.name
	}
	// Each waits once before anything is counted: it connects, subscribes, and its scripts get to the server.
	if _, err := (tryout{works: []time.Duration{pause, pause}}).handOver(ctx, clients, redis); err != nil {
		return err
	}
	before, err := requests(ctx, redis, w.sent)
	if err != nil {
		return err
	}
	waits, err := o.handOver(ctx, clients, redis)
	if err != nil {
		return err
	}
	after, err := requests(ctx, redis, w.sent)
	measure(t, w.name, 10*(after-before)/int64(1+len(o.works)), requestsUnit)
	measure(t, w.name, median(waits).Microseconds(), waitUnit)
	return err
}

// handOver lets each client hold the lock while the other waits for it, and returns how long a free lock was waited for.
func (o tryout) handOver(ctx context.Context, clients [2]*client, redis redis.UniversalClient) (waits []time.Duration, err error) {
	t := clients[0].t
	holder, err := clients[0].acquire(ctx)
	for i, work := range o.works {
		if err != nil {
			break
		}
		type grant struct {
			held *held
			at   time.Duration
			err  error
		}
		granted := make(chan grant, 1)
		t.Go(func() {
			h, err := clients[(i+1)%2].acquire(ctx)
			granted <- grant{h, t.Now(), err}
		})
		time.Sleep(work)
		released := t.Now()
		err = o.end(ctx, holder, redis)
		g := <-granted
		waits, holder, err = append(waits, g.at-released), g.held, errors.Join(err, g.err)
	}
	if err != nil {
		return nil, err
	}
	return waits, o.end(ctx, holder, redis)
}

// end gives the lock back, or takes it away without a word.
func (o tryout) end(ctx context.Context, h *held, redis redis.UniversalClient) error {
	if !o.deaf {
		return h.release(ctx)
	}
	if err := redis.Del(ctx, h.client.key).Err(); err != nil {
		return err
	}
	_ = h.release(ctx) // of what it no longer has
	return nil
}
