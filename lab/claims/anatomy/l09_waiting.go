package anatomy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/topology"
)

var L09 = Experiments.Add(lab.Experiment{
	ID:       "L09-waiting",
	Articles: lab.Articles{"A1", "A3", "A4"},
	Claim: `
		Waiting for a message needs few requests and a short wait, if the release sends it; no sleep here is better in both.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.RedisServer}, Alone: true, Takes: 15 * time.Second},
	Check: func(trial []history.Event) (found []history.Violation) {
		found = notBelow(trial, commandsPerWait, "spin")
		found = append(found, notBelow(trial, commandsPerWait, "sleep")...)
		found = append(found, notBelow(trial, untilNextHolder, "sleep")...)
		return append(found, betterInBoth(trial)...)
	},
	Curve: lab.Curve{Variant: sweptVariant, X: commandsPerWait, Y: untilNextHolder, Line: "sleep", Compared: byMessage},
	Variants: []lab.Variant{
		{Name: "released with a message", Run: threeWays(5, waitersLease, false)},
		{Name: "deleted without a message", Expect: lab.Sometimes, Run: threeWays(2, missedLease, true)},
		{Name: sweptVariant, Run: sweep},
	},
})

const (
	sleepPause   = 20 * time.Millisecond // of the client that sleeps
	waitersLease = 10 * time.Second
	// missedLease bounds the wait when the message does not come. A third of it later at most the holder's renewal finds the lock gone,
	// and notifies: that is still far more than a pause.
	missedLease = time.Second

	byMessage    = "message" // the name of a timeline
	sweptVariant = "sleeps of 1 to 100 ms"
)

var (
	commandsPerWait = lab.Tenths.Of("commands per wait")
	untilNextHolder = lab.Microseconds.Of("until the next holder")
)

// notBelow is a violation when the number of the client that waits for a message is not below that of another way.
func notBelow(trial []history.Event, of lab.Quantity, other string) []history.Violation {
	message, ok := clients.Measured(trial, byMessage, of)
	another, both := clients.Measured(trial, other, of)
	if !ok || !both || message.Value < another.Value {
		return nil
	}
	return []history.Violation{{
		What:   fmt.Sprintf("%s: %s by message, %s by %s", of.Label(), of.Text(message.Value), of.Text(another.Value), other),
		Events: []int{message.Seq, another.Seq},
	}}
}

// betterInBoth finds the sleeps that need no more requests than the message and no longer wait.
func betterInBoth(trial []history.Event) (found []history.Violation) {
	requests, ok := clients.Measured(trial, byMessage, commandsPerWait)
	wait, both := clients.Measured(trial, byMessage, untilNextHolder)
	for _, sleeps := range trial {
		its, measured := clients.Measured(trial, sleeps.Timeline, untilNextHolder)
		if !ok || !both || !measured || !commandsPerWait.In(sleeps) || sleeps.Timeline == byMessage ||
			sleeps.Value > requests.Value || its.Value > wait.Value {
			continue
		}
		found = append(found, history.Violation{
			What: sleeps.Timeline + " is not worse than the message, in requests nor in its wait", Events: []int{sleeps.Seq, its.Seq},
		})
	}
	return found
}

// sweep measures many sleeps beside the message, each with the same work. None of them keeps a processor busy.
func sweep(ctx context.Context, t *lab.Trial) {
	const longest = 100 * time.Millisecond
	work := handOverTest{works: make([]time.Duration, 10)}
	for i := range work.works { // a sleep begins with the work, and must end at any moment of a pause
		work.works[i] = longest + time.Duration(t.Rand.Int64N(int64(longest)))
	}
	var all []way
	for _, ms := range []time.Duration{1, 2, 5, 10, 20, 50, 100} {
		all = append(all, polling(fmt.Sprintf("sleep %d ms", ms), ms*time.Millisecond))
	}
	all = append(all, notified(waitersLease))
	results := make([]handedOver, len(all))
	t.GoEach(len(all), func(i int) { results[i] = work.passOn(ctx, t, all[i]) })()
	for i, w := range all { // recorded in this order, in which the points of the curve are joined
		results[i].record(t, w)
	}
}

// threeWays measures the three ways. The client that spins uses a whole processor, so the others run after it.
func threeWays(handOvers int, lease time.Duration, silent bool) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		pause := t.Scaled(sleepPause) // longer than a busy machine lets this process wait for a processor
		spin, sleep, message := polling("spin", clients.Spin), polling("sleep", pause), notified(t.Scaled(lease))
		all := handOverTest{works: make([]time.Duration, handOvers), silent: silent}
		for i := range all.works {
			all.works[i] = 5*pause + time.Duration(t.Rand.Int64N(int64(pause)))
		}
		two := handOverTest{works: all.works[:2], silent: silent} // they are enough: each has thousands of requests
		two.measure(ctx, t, spin)
		wait := t.Go(func() { all.measure(ctx, t, sleep) })
		all.measure(ctx, t, message)
		wait()
	}
}

// way is a way to wait.
type way struct {
	name   string
	client func(t *lab.Trial, conn redis.UniversalClient, name string) *clients.Client
	sent   []string // the commands with which it locks and waits, as the server calls them
}

// sentByRedisLock are the commands with which v3's lock locks and waits.
var sentByRedisLock = []string{"evalsha", "eval", "subscribe", "ssubscribe", "unsubscribe", "sunsubscribe", "ping"}

// notified is a client that waits for a message.
func notified(lease time.Duration) way {
	client := func(t *lab.Trial, conn redis.UniversalClient, name string) *clients.Client {
		return clients.RedisLock(t, name, conn, lease)
	}
	return way{byMessage, client, sentByRedisLock}
}

// polling is a client that tries, and sleeps for up to a pause, until the lock is granted.
func polling(name string, pause time.Duration) way {
	client := func(t *lab.Trial, conn redis.UniversalClient, name string) *clients.Client {
		return clients.NewPolling(t, name, clients.PollingSET(conn, name, pause, waitersLease))
	}
	return way{name, client, []string{"set", "eval"}}
}

// handOverTest is the same work for all ways.
type handOverTest struct {
	works  []time.Duration // while the other client waits
	silent bool            // the lock is deleted without a message
}

// handedOver is what a way needed.
type handedOver struct {
	tenths int64 // of a request, for each wait
	wait   time.Duration
}

func (h handedOver) record(t *lab.Trial, w way) {
	t.Measure(w.name, h.tenths, commandsPerWait)
	t.Measure(w.name, h.wait.Microseconds(), untilNextHolder)
}

func (o handOverTest) measure(ctx context.Context, t *lab.Trial, w way) {
	o.passOn(ctx, t, w).record(t, w)
}

// passOn lets two processes pass the lock to each other.
func (o handOverTest) passOn(ctx context.Context, t *lab.Trial, w way) handedOver {
	node, err := t.Stack.Redis(ctx, w.name, t.Real)
	t.Must(err)
	conn := clients.Connect(ctx, t, &servers.Topology{Kind: string(topology.Single), Addrs: []string{node.Addr}})
	var both [2]*clients.Client
	for i := range both {
		both[i] = w.client(t, conn, fmt.Sprintf("%s %c", w.name, 'A'+i))
		both[i].Key = "lock:" + w.name
	}
	// Each waits once before anything is counted: it connects, subscribes, and its scripts get to the server.
	handOverTest{works: []time.Duration{sleepPause, sleepPause}}.run(ctx, t, both, conn)
	before := clients.Requests(ctx, t, conn, w.sent...)
	waits := o.run(ctx, t, both, conn)
	slices.Sort(waits)
	return handedOver{10 * (clients.Requests(ctx, t, conn, w.sent...) - before) / int64(1+len(o.works)), waits[len(waits)/2]}
}

// run lets each client hold the lock while the other waits for it, and returns how long a client waited for a free lock.
func (o handOverTest) run(
	ctx context.Context, t *lab.Trial, both [2]*clients.Client, conn redis.UniversalClient,
) (waits []time.Duration) {
	holder := both[0].Acquire(ctx)
	for i, work := range o.works {
		var next *clients.LocalHolder
		var granted time.Duration
		wait := t.Go(func() {
			next = both[(i+1)%2].Acquire(ctx)
			granted = t.Now()
		})
		time.Sleep(work)
		released := t.Now()
		o.end(ctx, t, holder, conn)
		wait()
		if o.silent {
			_ = holder.TryRelease(ctx) // not earlier: a release that finds no key notifies those that wait
		}
		waits, holder = append(waits, granted-released), next
	}
	holder.Release(ctx)
	return waits
}

// end releases the lock, or deletes it without a message.
func (o handOverTest) end(ctx context.Context, t *lab.Trial, h *clients.LocalHolder, conn redis.UniversalClient) {
	if !o.silent {
		h.Release(ctx)
		return
	}
	t.Must(conn.Del(ctx, h.Key).Err())
}
