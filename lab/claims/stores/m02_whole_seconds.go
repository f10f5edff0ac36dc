package stores

import (
	"context"
	"errors"
	"time"

	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
)

var M02 = Experiments.Add(lab.Experiment{
	ID:       "M02-whole-seconds",
	Articles: lab.Articles{"A0"},
	Claim:    "An item that Memcached keeps for one second may end some milliseconds after its add.",
	Level:    lab.Medium,
	Schedule: lab.Schedule{Needs: []lab.Need{lab.Memcached}, Slow: true, Takes: 12 * time.Second},
	Check:    history.Counter,
	Variants: []lab.Variant{
		{Name: "1 s as v8 counts it", Trials: 1, Run: aSecond(ownLock)},
		{
			Name: "1 s taken for a lease of 1 s", Expect: lab.Sometimes,
			Run: aSecond(func(x *cacheServer, name string) *clients.Client { return addLock(x, name, 1, time.Second, byCas) }),
		},
	},
})

// aSecond lets A take the lock for a second, while B waits for it. When the server's clock ticks before A has the lock, the item lives
// on: then A tries again.
func aSecond(client lockOf) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x := startCacheServer(ctx, t)
		lock := client(x, "A")
		besideB(ctx, x, client(x, "B"), func() (a *clients.LocalHolder, early bool) {
			second := lateInASecond(ctx, x)
			a = lock.Acquire(ctx, lockstrategy.LeaseFor(time.Second))
			return a, uptime(ctx, x) == second
		})
	}
}

// lateInASecond waits until the server's clock is about to tick, and returns the second that it shows.
func lateInASecond(ctx context.Context, x *cacheServer) (second string) {
	before := uptime(ctx, x)
	x.Must(servers.Until(ctx, func(context.Context) error {
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
