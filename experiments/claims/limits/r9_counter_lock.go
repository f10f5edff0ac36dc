package limits

import (
	"context"
	"fmt"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/services"
	"locklab/ratelimit"
	"locklab/stack"
)

var R9 = experiments.Experiment{
	ID:       "R9-counter-lock",
	Title:    "A lock around the counter",
	Articles: experiments.Articles{"A0"},
	Claim:    "The counter needs no lock: one script is exact, and a lock around A0's listing costs more and still admits one call too many.",
	Says: `
		A0 says that the nodes share no process, and that a lock in one machine is not seen in another. So a distributed lock must be added, and
		one thread of one machine counts at a time.
		It then presents the locks, and ends with a counter in a script.`,
	Errata: []experiments.Erratum{{
		Article: "A0", What: `
		A0 says that the counter over several nodes needs a distributed lock. The script alone is exact without one. The listing does not take
		a lock either.`,
		Where: "section 2: `분포 식 자 물 쇠 를 추가 해 야 한다`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			A0's listing compares and then counts, and callers pass together. A distributed lock around both lets one caller in at a time. Is the
			limit kept then? And what does a call cost, compared with one script?`,
		Predict: `
			(a) It is kept, at about the same cost. (b) It is kept, at a multiple of the cost. (c) It is not kept: one call too many is made.`,
		Why: `
			(c) as it is printed, and (b) with >=. The lock mends the race and not the comparison: with > the listing still admits one call too many.
			With >= it is exact. Each call then takes the lock, reads, counts and releases the lock, and all nodes wait for each other. The script
			does the same in one command, and Redis executes one command at a time anyway. That is the mutual exclusion.`,
		Fix: `
			Let Redis decide and count in one script. Keep the lock for work that no single command can do. A lease that ends during the work
			would open the race again: the script has no such end.`,
		Limits: `
			The lock is v3, whose queue in the process does not help here, because each node is a process of its own. The times are of one machine
			with Redis beside the nodes. Over a network each of the lock's commands costs a round trip more.`,
		Next: "R2-article-aspect has the race without a lock. P0-atomic asks the same question of page views, and G6-conditional-update of a " +
			"database.",
		Level: experiments.Basic,
	},
	Drawing: `
script   EVAL → 24, call
lock     acquire   GET → 23   EVAL → 24, call   release     next node: acquire   GET → 24 …`,
	How: `
		Twelve nodes try four calls each, twice the limit, with one script, with A0's listing inside a lock, and with >= inside a lock. In one
		variant the listing has no lock, and the callers compare together. Measured are the time from the first call to the last, for each
		call, and the commands that Redis executed, for each call.`,
	Schedule: experiments.Schedule{Alone: true, Takes: 4 * time.Second},
	Check:    services.OverLimit(services.PerMinute),
	Variants: []experiments.Variant{
		{Name: "one script, no lock", Run: priced("r3", false)},
		{Name: "A0's listing, no lock", Expect: experiments.Sometimes, Run: compareWithoutLock},
		{Name: "A0's listing in a lock", Expect: experiments.Sometimes, Run: priced("r2", true)},
		{Name: "with >=, in a lock", Run: priced("r9", true)},
	},
}

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

func compareWithoutLock(ctx context.Context, t *experiments.Trial) {
	c := services.StartCaller(ctx, t, "r2", services.SupplierNodes, services.PerMinute)
	c.CompareTogether(ctx)
	c.Sum()
}

// priced measures calls of all nodes, with a lock or without.
func priced(algorithm string, lock bool) experiments.Scenario {
	const attempts = 4
	return func(ctx context.Context, t *experiments.Trial) {
		c := services.StartCaller(ctx, t, algorithm, services.SupplierNodes, services.PerMinute)
		for i, limiter := range c.Limiters {
			warm := ratelimit.Limit{Key: "warm", Count: 1000, Window: time.Minute}
			_, err := limiter.Allow(ctx, warm)
			t.Must(err)
			if lock {
				name := fmt.Sprintf("node-%d", i+1)
				c.Limiters[i] = locked{limiter, clients.RedisLock(t, name, c.Clients[i], clients.LongLease)}
			}
		}
		before, began := commandsOf(ctx, t, c.Redis), time.Now()
		c.Together(ctx, attempts)
		took, calls := time.Since(began), int64(attempts*services.SupplierNodes)
		t.Measure("all nodes", took.Microseconds()/calls, experiments.Microseconds.Of("for each call"))
		if t.Real {
			t.Measure("all nodes", commandsOf(ctx, t, c.Redis)-before, experiments.Count.Of("commands for 48 calls, those in scripts included"))
		}
		c.Sum()
	}
}

// commandsOf is how many commands a real redis-server has executed; of miniredis it is 0, which does not count them.
func commandsOf(ctx context.Context, t *experiments.Trial, n *stack.Node) int64 {
	if !t.Real {
		return 0
	}
	commands, err := n.Number(ctx, "stats", "total_commands_processed")
	t.Must(err)
	return commands
}
