package limits

import (
	"context"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/systems/ratelimit"
)

var R9 = Experiments.Add(lab.Experiment{
	ID:       "R9-counter-lock",
	Articles: lab.Articles{"A0"},
	Claim:    "The counter needs no lock: one script is exact, and a lock around A0's listing costs more and still admits one call too many.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Alone: true, Takes: 4 * time.Second},
	Check:    services.OverLimit(services.PerMinute),
	Variants: []lab.Variant{
		{Name: "one script, no lock", Run: priced("r3", false)},
		{Name: "A0's listing, no lock", Expect: lab.Sometimes, Run: services.Twelve("r2", services.CompareTogether)},
		{Name: "A0's listing in a lock", Expect: lab.Sometimes, Run: priced("r2", true)},
		{Name: "with >=, in a lock", Run: priced("r9", true)},
	},
})

// locked takes a lock around each question to a limiter.
type locked struct {
	ratelimit.Limiter
	client *clients.Client
}

// Allow implements [ratelimit.Limiter].
func (l locked) Allow(ctx context.Context, limit ratelimit.Limit) (state ratelimit.State, err error) {
	lease, err := l.client.Lock.Acquire(ctx, l.client.Key)
	if err != nil {
		return state, err
	}
	state, err = l.Limiter.Allow(ctx, limit)
	if failed := lease.Release(ctx); failed != nil {
		err = failed
	}
	return state, err
}

// priced measures calls of all nodes, with a lock or without.
func priced(algorithm string, lock bool) lab.Scenario {
	const attempts = 4
	return services.Twelve(algorithm, func(ctx context.Context, c *services.Caller) {
		c.Warm(ctx)
		for i, limiter := range c.Limiters {
			if lock {
				name := fmt.Sprintf("node-%d", i+1)
				c.Limiters[i] = locked{limiter, clients.RedisLock(c.Trial, name, c.Clients[i], clients.LongLease)}
			}
		}
		before, began := commandsOf(ctx, c), time.Now()
		c.Together(ctx, attempts)
		took, calls := time.Since(began), int64(attempts*services.SupplierNodes)
		c.Measure("all nodes", took.Microseconds()/calls, lab.Microseconds.Of("for each call"))
		if c.Real {
			c.Measure("all nodes", commandsOf(ctx, c)-before, lab.Count.Of("commands for 48 calls, those in scripts included"))
		}
	})
}

// commandsOf is how many commands a real redis-server has executed; of miniredis it is 0, which does not count them.
func commandsOf(ctx context.Context, c *services.Caller) int64 {
	if !c.Real {
		return 0
	}
	commands, err := c.Redis.Number(ctx, "stats", "total_commands_processed")
	c.Must(err)
	return commands
}
