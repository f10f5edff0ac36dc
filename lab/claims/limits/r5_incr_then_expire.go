package limits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/internal/faultproxy"
	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/systems/ratelimit"
)

var R5 = Experiments.Add(lab.Experiment{
	ID:       "R5-incr-then-expire",
	Articles: lab.Articles{"A0"},
	Claim:    "A crash between INCR and EXPIRE blocks the supplier for ever; a script frees the counter, if it runs at all.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 4 * time.Second},
	Check:    clients.Noted(refusedForEver),
	Variants: []lab.Variant{
		{Name: "one script", Fault: true, Run: crashed("r3", "r3", 0)},
		{Name: "two commands", Expect: lab.Sometimes, Fault: true, Run: crashed("r5", "r5", 0)},
		{Name: "two commands, then A0's listing", Fault: true, Run: crashed("r5", "r2", 0)},
		{
			Name: "two commands until it is full, then A0's listing", Expect: lab.Sometimes, Fault: true,
			Run: crashed("r5", "r2", 2*services.PerMinute.Count),
		},
		{Name: "two commands until it is full, then one script", Fault: true, Run: crashed("r5", "r3", 2*services.PerMinute.Count)},
	},
})

var refusedForEver = history.Mark{Name: "the counter has no expiry, and refuses for ever"}

// crashed crashes in the first call of an algorithm. The nodes go on with so many calls, and then count by another algorithm.
func crashed(first, then string, calls int) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		c := services.OpenCaller(t, clients.StartRedis(ctx, t).Node, first, services.SupplierNodes, services.PerMinute)
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
	client, wire := clients.OverWire(c.Trial, c.Redis.Addr)
	limiter := services.OpenLimiter(c.Trial, algorithm, client, services.SupplierNodes)
	warm := c.Limit
	warm.Key = "warm"
	_, err := limiter.Allow(ctx, warm) // the script is loaded
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
