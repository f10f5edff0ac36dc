package limits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/ratelimit"
	"locklab/stack/faultproxy"
)

var R5 = experiments.Experiment{
	ID:       "R5-incr-then-expire",
	Title:    "A crash between INCR and EXPIRE",
	Articles: experiments.Articles{"A0"},
	Claim:    "A crash between INCR and EXPIRE blocks the supplier for ever; a script frees the counter, if it runs at all.",
	Says: `
		A0 counts and sets the expiry in one script. The script repairs a counter whose TTL is -1, which has no expiry.`,
	Errata: []experiments.Erratum{{
		Article: "A0", What: `
		The script repairs a counter without an expiry. The aspect does not run it when such a counter is above the limit: it compares
		first, and returns null. So the full counter that needs the repair most never gets it.`,
		Where: "section 6, the aspect: `currentCount>limit`",
	}, {
		Article: "A0", What: `
		Inside the script no client comes between INCR and EXPIRE, so no crash there leaves a TTL of -1. Only another program, or a script
		that failed midway (R8), makes such a counter.`,
		Where: "section 5, the script of the counter: `if ttlTime == -1`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A node counts its calls by INCR. If the counter is 1, it sets the expiry by a second command, EXPIRE. The node dies between the two.
			What happens to the other nodes' calls?`,
		Predict: `
			(a) Nothing: the next call sets the expiry. (b) They are refused for one window. (c) They are refused for ever, once the counter is
			full.`,
		Why: `
			(c). Only the call that counts to 1 sets an expiry, and that call is over. The counter grows with each call, never expires, and
			is full after some time. One script leaves no such gap: Redis executes all of it or, before its first write, nothing. A script that
			looks at the TTL frees a counter that somebody else left. A0's listing has that repair, and returns before it when the counter is
			full.`,
		Fix: `
			Count and set the expiry in one script. Let it set the expiry of a counter that has none, before it decides. Put nothing before the
			script that can skip it.`,
		Limits: `
			The crash is a connection that ends: for Redis it looks like a dead client. The time moves by shorter lives of the keys. In the
			variants with A0's listing, the counter that was left is given to it by a RENAME. The run shows no script that fails: R8 does.`,
		Next: "L02-setnx-then-expire is the same gap in a lock. R8-script-fails-midway opens it inside a script. L12 loses the reply to an " +
			"acquire.",
		Level: experiments.Medium,
	},
	Drawing: `
node-1   INCR → 1   †                       no EXPIRE: the counter lives for ever
others              INCR → 2 … 24   call
                    INCR → 25 …     refused    (a minute)   refused    (a minute)   refused`,
	How: `
		The reply to the INCR of the first call is lost, and its connection ends. The server is asked for the counter and its TTL: that is the
		proof. Then the other nodes call until they are refused, a minute passes, and a node calls once more. The trial has a violation if that
		call is refused although no other one was made, and the counter has no expiry. The control loses the reply to its script.`,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    clients.Noted(refusedForEver),
	Variants: []experiments.Variant{
		{Name: "one script", Fault: true, Run: crashed("r3", "r3", 0)},
		{Name: "two commands", Expect: experiments.Sometimes, Fault: true, Run: crashed("r5", "r5", 0)},
		{Name: "two commands, then A0's listing", Fault: true, Run: crashed("r5", "r2", 0)},
		{
			Name: "two commands until it is full, then A0's listing", Expect: experiments.Sometimes, Fault: true,
			Run: crashed("r5", "r2", 2*services.PerMinute.Count),
		},
		{Name: "two commands until it is full, then one script", Fault: true, Run: crashed("r5", "r3", 2*services.PerMinute.Count)},
	},
}

var refusedForEver = history.Mark{Name: "the counter has no expiry, and refuses for ever"}

// crashed crashes in the first call of an algorithm. The nodes go on with so many calls, and then count by another algorithm.
func crashed(first, then string, calls int) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		c := services.StartCaller(ctx, t, first, services.SupplierNodes, services.PerMinute)
		crash(ctx, c, first)
		c.Call(ctx, 1, calls)
		if then != first {
			next := services.OpenCaller(t, c.Redis, then, services.SupplierNodes, c.Limit)
			t.Must(next.Clients[0].Rename(ctx, counterOf(first), counterOf(then)).Err())
			t.Note("Redis", "RENAME: the counter now belongs to "+then)
			c = next
		}
		for range 2 {
			c.Call(ctx, 1, 2*c.Limit.Count)
			c.PassTime(ctx, c.Limit.Window)
		}
		before := len(c.Events())
		c.Call(ctx, 1, 1)
		last := c.Events()[before]
		expiry, err := c.Clients[1].PTTL(ctx, counterOf(then)).Result()
		t.Must(err)
		if last.Kind == history.Refuse && expiry == -1 {
			t.Record(refusedForEver.On(history.Event{Timeline: "Redis", Kind: history.Left, Key: counterOf(then)}))
		}
	}
}

func counterOf(algorithm string) string {
	return "ratelimit:" + algorithm + ":" + services.PerMinute.Key
}

// crash loses the reply to the first command of a call, and with it the rest of the call.
func crash(ctx context.Context, c *services.Caller, algorithm string) {
	wire, err := c.Stack.Proxy("wire", c.Redis.Addr)
	c.Must(err)
	client := redis.NewClient(clients.OneAttempt(wire.Addr))
	c.Cleanup(client.Close)
	limiter := services.OpenLimiter(c.Trial, algorithm, c.Tap(client), services.SupplierNodes)
	warm := c.Limit
	warm.Key = "warm"
	_, err = limiter.Allow(ctx, warm) // the script is loaded
	c.Must(err)
	wire.LoseReply(faultproxy.NoGreeting, func(faultproxy.Chunk) { wire.Cut() })
	if _, err := limiter.Allow(ctx, c.Limit); !errors.Is(err, ratelimit.ErrUnavailable) {
		c.Must(errors.Join(errors.New("the reply was to be lost"), err))
	}
	count, err := c.Clients[0].Get(ctx, counterOf(algorithm)).Result()
	c.Must(err)
	expiry, err := c.Clients[0].PTTL(ctx, counterOf(algorithm)).Result()
	c.Must(err)
	c.Fault("node-1", "its connection ends after the first command", fmt.Sprintf("the server has the counter %s with the PTTL %d ms",
		count, max(-1, expiry.Milliseconds())))
}
