package services

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/systems/ratelimit"
)

// SupplierNodes is how many nodes call the supplier, as in A0.
const SupplierNodes = 12

// The limits. A0's supplier allows 2000 calls a minute. With 24 a picture can be read.
var (
	// PerMinute is for trials that move the time, or need one window only.
	PerMinute = ratelimit.Limit{Key: "rates", Count: 24, Window: time.Minute}
	// PerMoment has the same ratio: 2000 calls a minute are 24 in 720 ms. It is for trials that wait.
	PerMoment = ratelimit.Limit{Key: "rates", Count: 24, Window: 720 * time.Millisecond}
)

// Caller is nodes that call one supplier under one limit. The supplier is the history: each admitted call is an event.
type Caller struct {
	*lab.Trial
	Limit    ratelimit.Limit
	Redis    *servers.Node           // that the limiters share
	Clients  []redis.UniversalClient // one for each node
	Limiters []ratelimit.Limiter     // one for each node
}

// Calling runs a scenario with nodes that count by an algorithm, and measures what they did.
func Calling(algorithm string, nodes int, limit ratelimit.Limit, scenario func(context.Context, *Caller)) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		c := OpenCaller(t, clients.StartRedis(ctx, t).Node, algorithm, nodes, limit)
		scenario(ctx, c)
		c.Sum()
	}
}

// Twelve is Calling with all nodes in one window.
func Twelve(algorithm string, scenario func(context.Context, *Caller)) lab.Scenario {
	return Calling(algorithm, SupplierNodes, PerMinute, scenario)
}

// OpenCaller opens the limiters of nodes over a Redis that runs. Each node sends every command once.
func OpenCaller(t *lab.Trial, node *servers.Node, algorithm string, nodes int, limit ratelimit.Limit) *Caller {
	c := &Caller{Trial: t, Limit: limit, Redis: node}
	for range nodes {
		client := clients.Dial(t, node.Addr)
		c.Clients = append(c.Clients, client)
		c.Limiters = append(c.Limiters, OpenLimiter(t, algorithm, client, nodes))
	}
	return c
}

// OpenLimiter opens the limiter of one of nodes.
func OpenLimiter(t *lab.Trial, algorithm string, client redis.UniversalClient, nodes int) ratelimit.Limiter {
	found, ok := ratelimit.Find(algorithm)
	if !ok {
		t.Must(fmt.Errorf("there is no algorithm %s", algorithm))
	}
	limiter, err := found.Open(client, nodes)
	t.Must(err)
	return limiter
}

// TryCall asks a node's limiter, and calls the supplier if it admits. A refusal is recorded, and is no error.
func (c *Caller) TryCall(ctx context.Context, node int) error {
	name := fmt.Sprintf("node-%d", node+1)
	_, err := c.Limiters[node].Allow(ctx, c.Limit)
	refusal := new(ratelimit.Refusal)
	switch {
	case err == nil:
		c.Record(history.Event{Timeline: name, Kind: history.Call, Key: "supplier"})
	case errors.As(err, &refusal):
		c.Record(history.Event{Timeline: name, Kind: history.Refuse, Key: "supplier", Text: "come back later"})
	default:
		return err
	}
	return nil
}

// Call lets a node call so many times, one after the other.
func (c *Caller) Call(ctx context.Context, node, times int) {
	for range times {
		c.Must(c.TryCall(ctx, node))
	}
}

// Together lets all nodes call simultaneously, each so many times.
func (c *Caller) Together(ctx context.Context, times int) {
	c.GoEach(len(c.Limiters), func(node int) { c.Call(ctx, node, times) })()
}

// Warm opens each connection, and loads the script.
func (c *Caller) Warm(ctx context.Context) {
	for _, limiter := range c.Limiters {
		_, err := limiter.Allow(ctx, ratelimit.Limit{Key: "warm", Count: 1000, Window: time.Minute})
		c.Must(err)
	}
}

// AroundTheEnd calls once, and at half of the window up to the limit. When the first call has left the window, it calls up to the limit
// once more. The nodes take turns. A trial on a machine that misses these moments ends.
func AroundTheEnd(ctx context.Context, c *Caller) {
	c.Warm(ctx)
	before := len(c.Events())
	c.Call(ctx, 0, 1)
	events := c.Events()
	if len(events) == before || events[before].Kind != history.Call {
		c.Must(errors.New("the first call was refused"))
	}
	first := events[before].At
	spread := func(calls int, at time.Duration) {
		time.Sleep(first + at - c.Now())
		for n := range calls {
			c.Call(ctx, n%len(c.Limiters), 1)
		}
		if late := c.Now() - first - at; late > c.Limit.Window/3 {
			c.Must(fmt.Errorf("the machine was too slow: %d calls took %s", calls, late))
		}
	}
	spread(c.Limit.Count-1, c.Limit.Window/2)
	spread(c.Limit.Count, c.Limit.Window+10*time.Millisecond) // miniredis ends keys a moment late
}

// Sum measures how many calls were made and refused, and the most in one window.
func (c *Caller) Sum() {
	calls, refused := callsOf(c.Events()), 0
	for _, e := range c.Events() {
		if e.Kind == history.Refuse && e.Key == "supplier" {
			refused++
		}
	}
	most, _ := ratelimit.Worst(timesOf(calls), c.Limit.Window)
	c.Measure("all nodes", int64(len(calls)), lab.Count.Of("calls made"))
	c.Measure("all nodes", int64(refused), lab.Count.Of("calls refused"))
	c.Measure("all nodes", int64(most), lab.Count.Of("calls in one window, at most"))
}

// OverLimit is a check that finds a window, which may begin at any time, with more calls than the limit.
func OverLimit(limit ratelimit.Limit) func([]history.Event) []history.Violation {
	return func(trial []history.Event) []history.Violation {
		calls := callsOf(trial)
		most, from := ratelimit.Worst(timesOf(calls), limit.Window)
		if most <= limit.Count {
			return nil
		}
		worst := calls[from : from+most]
		took := worst[most-1].At - worst[0].At
		what := fmt.Sprintf("%d calls in %d ms; the supplier allows %s", most, took.Milliseconds(), limit)
		seqs := make([]int, most)
		for i, e := range worst {
			seqs[i] = e.Seq
		}
		return []history.Violation{{Key: "supplier", What: what, Events: seqs}}
	}
}

func callsOf(trial []history.Event) (calls []history.Event) {
	for _, e := range trial {
		if e.Kind == history.Call {
			calls = append(calls, e)
		}
	}
	return calls
}

func timesOf(calls []history.Event) []time.Time {
	times := make([]time.Time, len(calls))
	for i, e := range calls {
		times[i] = time.Unix(0, int64(e.At))
	}
	return times
}

// PassTime lets the keys of Redis live shorter, as if so much time had passed. It records what changed.
func (c *Caller) PassTime(ctx context.Context, by time.Duration) {
	changes, err := c.Stack.ClockAhead(ctx, c.Redis, by)
	c.Must(err)
	if changes == "" {
		changes = "no key has an expiry"
	}
	c.Note("Redis", fmt.Sprintf("%s pass: %s", by, changes))
}

// CompareTogether leaves room for one call, for which all nodes compete: each has done what comes before its script when the first script
// is executed.
func CompareTogether(ctx context.Context, c *Caller) {
	c.Call(ctx, 0, c.Limit.Count-1)
	nodes := make([]*explore.Actor, len(c.Clients))
	for i, client := range c.Clients {
		nodes[i] = explore.NewActor(fmt.Sprintf("node-%d", i+1))
		client.AddHook(stopsAtScripts(nodes[i]))
		c.Must(nodes[i].Begin(ctx, c.Go, func() { c.Call(ctx, i, 1) }))
	}
	c.Must(explore.MoveActors(ctx, "", nil, nodes...))
}

// stopsAtScripts makes each script of a client a step of its actor.
func stopsAtScripts(actor *explore.Actor) clients.EachCommand {
	return func(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) (err error) {
		if cmd.Name() != "eval" && cmd.Name() != "evalsha" {
			return send(ctx, cmd)
		}
		if waited := actor.Step(func() { err = send(ctx, cmd) }); waited != nil {
			cmd.SetErr(waited)
			return waited
		}
		return err
	}
}
