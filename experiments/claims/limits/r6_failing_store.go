package limits

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/failovers"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/ratelimit"
)

var R6 = experiments.Experiment{
	ID:       "R6-failing-store",
	Title:    "The counter's Redis fails",
	Articles: experiments.Articles{"A0"},
	Claim: `
		Without its Redis a limiter exceeds the limit (fail open) or loses calls (fail closed); a failover may forget what was counted.`,
	Says: `
		A0 counts in Redis, and does not say what the aspect does when Redis gives no answer. As printed the exception reaches the caller.`,
	Lesson: experiments.Lesson{
		Question: `
			Twelve nodes have used the whole limit of this minute. Then the Redis with the counter dies, and calls go on. Should a node call the
			supplier, or not? And what does a replica know that is promoted?`,
		Predict: `
			(a) A good limiter stays within the limit and loses no call. (b) One of both is lost, and you choose which. (c) The replica has the
			same counter.`,
		Why: `
			(b). Without the counter nobody knows how many calls the others have made. Fail open makes the calls and exceeds the limit. Fail closed
			makes none, even where the limit has room. The replica does not help: the master answers before it replicates. What it had not
			replicated is not counted on the new master, which admits the limit again.`,
		Fix: `
			Choose for each operation. Where a call over the limit costs money or a ban, fail closed, and tell the caller when to come back. Where
			a lost call costs more, fail open, and count such calls. Bound the time to answer in both cases, for a Redis that hangs.`,
		Limits: `
			The replication is cut on purpose, and normally a few calls are forgotten and not all. WAIT would narrow that gap, as F04 shows for
			a lock. Nobody here falls back to a local counter with a part of the limit: that bounds the excess, and does not prevent it.`,
		Next:  "F01-master-slave loses a lock in the same way. R7-split-limit needs no Redis at all.",
		Level: experiments.Medium,
	},
	Drawing: `
Redis     counter 24 of 24      †
nodes     24 calls              ?   fail open: 24 more calls    fail closed: 24 calls are not made
replica   counter 0             promoted: 24 more calls`,
	How: `
		The nodes make 24 calls, which is the limit of a minute. Redis is killed, and each node tries two calls more. A node waits five
		seconds for an answer, and a dead Redis refuses it immediately. For the failover, the replicas are cut off before the first call, the
		master is killed, and a replica is promoted by hand. In the control Redis lives.`,
	Schedule: experiments.Schedule{Takes: 3 * time.Second},
	Check:    services.OverLimit(services.PerMinute),
	Variants: []experiments.Variant{
		{Name: "Redis answers", Run: storeKilled(ratelimit.FailOpen, false)},
		{Name: "killed, fail open", Expect: experiments.Sometimes, Fault: true, Run: storeKilled(ratelimit.FailOpen, true)},
		{Name: "killed, fail closed", Fault: true, Run: storeKilled(ratelimit.FailClosed, true)},
		{
			Name: "failover, the counter is lost", Expect: experiments.Sometimes, Fault: true, Needs: []experiments.Need{experiments.RedisServer},
			Run: counterLost,
		},
	},
}

// longestAnswer is long, because twelve nodes dial at the same moment, and with fail open a slow answer is no answer. It costs no time: a
// Redis that was killed refuses immediately.
const longestAnswer = 5 * time.Second

// storeKilled uses the limit up, kills Redis where that is wanted, and lets all nodes try again.
func storeKilled(mode ratelimit.Mode, kill bool) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		c := services.StartCaller(ctx, t, "r3", services.SupplierNodes, services.PerMinute)
		for i, limiter := range c.Limiters {
			failing, err := ratelimit.Failing(limiter, mode, t.Scaled(longestAnswer))
			t.Must(err)
			c.Limiters[i] = failing
		}
		useUp(ctx, c)
		if kill {
			clients.Kill(t, c.Redis)
		}
		lost := 0
		for range 2 {
			for node := range c.Limiters {
				err := c.TryCall(ctx, node)
				if errors.Is(err, ratelimit.ErrUnavailable) {
					lost, err = lost+1, nil
				}
				t.Must(err)
			}
		}
		c.Sum()
		t.Measure("all nodes", int64(lost), experiments.Count.Of("calls not made without an answer of Redis"))
	}
}

// useUp makes all calls of the window, each node the same number.
func useUp(ctx context.Context, c *services.Caller) {
	c.Together(ctx, c.Limit.Count/len(c.Limiters))
	for _, e := range c.Events() {
		if e.Kind == history.Refuse {
			c.Must(errors.New("a call within the limit was refused"))
		}
	}
}

// counterLost uses the limit up on a master that replicates nothing, and again on the replica that is promoted.
func counterLost(ctx context.Context, t *experiments.Trial) {
	x := failovers.MasterSlave(ctx, t)
	x.CutReplication(ctx, x.Replicas...)
	useUp(ctx, services.OpenCaller(t, x.Master, "r3", services.SupplierNodes, services.PerMinute))
	x.FailOver(ctx)
	c := services.OpenCaller(t, x.Master, "r3", services.SupplierNodes, services.PerMinute)
	c.Together(ctx, 2)
	c.Sum()
}
