package stores

import (
	"context"
	"errors"
	"time"

	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
)

var M02 = experiments.Experiment{
	ID:       "M02-whole-seconds",
	Articles: experiments.Articles{"A0"},
	Claim:    "An item that Memcached keeps for one second may end some milliseconds after its add.",
	Level:    experiments.Medium,
	Schedule: experiments.Schedule{Needs: []experiments.Need{experiments.Memcached}, Slow: true, Takes: 12 * time.Second},
	Check:    history.Counter,
	Variants: []experiments.Variant{
		{Name: "1 s as v8 counts it", Trials: 1, Run: aSecond(ownLock)},
		{
			Name: "1 s taken for a lease of 1 s", Expect: experiments.Sometimes,
			Run: aSecond(func(x *cacheServer, name string) *clients.Client { return addLock(x, name, 1, time.Second, byCas) }),
		},
	},
}

// aSecond lets A take the lock for a second, while B waits for it. When the server's clock ticks before A has the lock, the item lives
// on: then A tries again.
func aSecond(client lockOf) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		x := startCacheServer(ctx, t)
		lock := client(x, "A")
		besideB(ctx, x, client(x, "B"), func() (a *clients.Holder, early bool) {
			second := lateInASecond(ctx, x)
			a = lock.Acquire(ctx, lockstrategy.LeaseFor(time.Second))
			return a, uptime(ctx, x) == second
		})
	}
}

// lateInASecond waits until the server's clock is about to tick, and returns the second that it shows.
func lateInASecond(ctx context.Context, x *cacheServer) (second string) {
	before := uptime(ctx, x)
	x.Must(stack.Until(ctx, func(context.Context) error {
		if second = uptime(ctx, x); second == before {
			return errors.New("the clock has not ticked")
		}
		return nil
	}))
	select {
	case <-time.After(700 * time.Millisecond):
	case <-ctx.Done():
	}
	return second
}

// uptime is how many seconds the server has counted.
func uptime(ctx context.Context, x *cacheServer) string {
	stats, err := x.Server.Stats(ctx)
	x.Must(err)
	return stats["uptime"]
}
