package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// Algorithm is one way to count, and a prefix of the URL: /r3/supplier/call.
type Algorithm struct {
	Name    string // "r3": in URLs, tables and metrics
	Title   string // in a few words
	Summary string // in a line
	Exceeds bool   // whether several instances together admit more than the limit in some window: what it is there to show

	open  func(client redis.UniversalClient, nodes int) Limiter
	under string // what its library puts before a key
}

var all = []Algorithm{
	{
		Name: "r0", Title: "no limit", Exceeds: true, Summary: "admits everything: the measure for what the others cost",
		open: func(redis.UniversalClient, int) Limiter { return unlimited{} },
	},
	{
		Name: "r1", Title: "counter per node", Exceeds: true, Summary: "a counter in this process: 12 nodes admit 12 times the limit",
		open: func(redis.UniversalClient, int) Limiter { return NewLocal() },
	},
	{
		Name: "r2", Title: "A0's listing", Exceeds: true, Summary: "GET, compare, then count by a script: as the article prints it",
		open: func(client redis.UniversalClient, _ int) Limiter { return article{client: client} },
	},
	{
		Name: "r3", Title: "one script, fixed window", Exceeds: true, Summary: "exact in each of its windows; twice the limit around a border",
		open: func(client redis.UniversalClient, _ int) Limiter { return scripted{client, fixedScript} },
	},
	{
		Name: "r4", Title: "sliding window, a log", Summary: "exact in any window; it stores the time of each call",
		open: func(client redis.UniversalClient, _ int) Limiter { return scripted{client, slidingScript} },
	},
	{
		Name: "r5", Title: "INCR, then EXPIRE", Exceeds: true, Summary: "two commands: a crash between them blocks the key for ever",
		open: func(client redis.UniversalClient, _ int) Limiter { return twoCommands{client} },
	},
	{
		Name: "r6", Title: "GCRA", under: rateKeys, Summary: "a burst of a tenth of the limit, then a constant rate (go-redis/redis_rate)",
		open: func(client redis.UniversalClient, _ int) Limiter {
			return gcra{redis_rate.NewLimiter(client), withinLimit}
		},
	},
	{
		Name: "r7", Title: "limit / nodes", Summary: "each node has its part of the limit: never over it, and refuses while others are idle",
		open: func(_ redis.UniversalClient, nodes int) Limiter { return newLocal(nodes) },
	},
	{
		Name: "r8", Title: "GCRA, burst = limit", Exceeds: true, under: rateKeys,
		Summary: "as redis_rate.PerMinute sets it: burst and rate admit twice the limit",
		open: func(client redis.UniversalClient, _ int) Limiter {
			return gcra{redis_rate.NewLimiter(client), perWindow}
		},
	},
	{
		Name: "r9", Title: "A0's listing, with >=", Exceeds: true, Summary: "GET, compare, then count: callers that compare together exceed",
		open: func(client redis.UniversalClient, _ int) Limiter { return article{client, true} },
	},
}

// All returns the algorithms, in the order of the URL.
func All() []Algorithm { return slices.Clone(all) }

// Find returns the algorithm with a name; without one it reports false.
func Find(name string) (Algorithm, bool) {
	i := slices.IndexFunc(all, func(a Algorithm) bool { return a.Name == name })
	if i < 0 {
		return Algorithm{}, false
	}
	return all[i], true
}

// Open opens the limiter of one instance. client is the Redis that all instances share. nodes is how many instances there are, from 1:
// r7 divides the limit by it. Keys begin with the name, so that algorithms do not share counters.
func (a Algorithm) Open(client redis.UniversalClient, nodes int) (Limiter, error) {
	if nodes < 1 {
		return nil, fmt.Errorf("%w: %d nodes; there must be 1 at least", ErrInput, nodes)
	}
	return checked{a.open(client, nodes), client, "ratelimit:" + a.Name + ":", a.under}, nil
}

// checked validates each limit, and puts a text before its key. It keeps the promise that no refusal lasts longer than the window.
type checked struct {
	limiter       Limiter
	client        redis.UniversalClient
	prefix, under string
}

// Allow implements [Limiter].
func (c checked) Allow(ctx context.Context, limit Limit) (State, error) {
	if err := limit.Validate(); err != nil {
		return State{}, err
	}
	stored := limit
	stored.Key = c.prefix + limit.Key
	state, err := c.limiter.Allow(ctx, stored)
	refusal := new(Refusal)
	if errors.As(err, &refusal) {
		refusal.Limit = limit
	}
	if longest := max(state.Reset, refusal.After); longest.Truncate(time.Millisecond) > limit.Window {
		left := c.shorten(ctx, c.under+stored.Key, limit.Window)
		state.Reset, refusal.After = min(state.Reset, left), min(refusal.After, left)
	}
	return state, misstored(err, c.under+stored.Key)
}

// shorten lets a key expire after a window at most, and returns when it does. A server whose clock was set back says that a limit takes
// longer than its window, because stored times lie in its future. The key counts calls that were admitted before now. So a window from
// now they are over. An expiry that is soon enough stays: calls that are refused do not prolong it.
func (c checked) shorten(ctx context.Context, key string, window time.Duration) (left time.Duration) {
	if left := c.client.PTTL(ctx, key).Val(); left > 0 && left <= window {
		return left
	}
	c.client.PExpire(ctx, key, window) // if it fails, the next refusal tries again
	return window
}
