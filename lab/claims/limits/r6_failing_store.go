package limits

import (
	"context"
	"errors"
	"time"

	"locklab/lab"
	"locklab/lab/claims/failovers"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/systems/ratelimit"
)

var R6 = Experiments.Add(lab.Experiment{
	ID:       "R6-failing-store",
	Articles: lab.Articles{"A0"},
	Claim: `
		Without its Redis a limiter exceeds the limit (fail open) or loses calls (fail closed); a failover may forget what was counted.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 3 * time.Second},
	Check:    services.OverLimit(services.PerMinute),
	Variants: []lab.Variant{
		{Name: "Redis answers", Run: storeKilled(ratelimit.FailOpen, false)},
		{Name: "killed, fail open", Expect: lab.Sometimes, Fault: true, Run: storeKilled(ratelimit.FailOpen, true)},
		{Name: "killed, fail closed", Fault: true, Run: storeKilled(ratelimit.FailClosed, true)},
		{
			Name: "failover, the counter is lost", Expect: lab.Sometimes, Fault: true, Needs: []lab.Need{lab.RedisServer},
			Run: counterLost,
		},
	},
})

// longestAnswer is long, because twelve nodes dial at the same moment, and with fail open a slow answer is no answer. It costs no time: a
// Redis that was killed refuses immediately.
const longestAnswer = 5 * time.Second

// storeKilled uses the limit up, kills Redis where that is wanted, and lets all nodes try again.
func storeKilled(mode ratelimit.Mode, kill bool) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		c := services.OpenCaller(t, clients.StartRedis(ctx, t).Node, "r3", services.SupplierNodes, services.PerMinute)
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
		t.Measure("all nodes", int64(lost), lab.Count.Of("calls not made without an answer of Redis"))
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
func counterLost(ctx context.Context, t *lab.Trial) {
	x := failovers.MasterSlave(ctx, t)
	x.CutReplication(ctx, x.Replicas...)
	useUp(ctx, services.OpenCaller(t, x.Master, "r3", services.SupplierNodes, services.PerMinute))
	x.FailOver(ctx)
	c := services.OpenCaller(t, x.Master, "r3", services.SupplierNodes, services.PerMinute)
	c.Together(ctx, 2)
	c.Sum()
}
