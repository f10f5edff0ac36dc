package caches

import (
	"context"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/servers"
	"locklab/systems/cache"
)

var C2 = Experiments.Add(lab.Experiment{
	ID:       "C2-avalanche",
	Articles: lab.Articles{"A3"},
	Claim: `
		Items with one TTL expire together and reach the database together; spread TTLs and a second level in the process flatten that.`,
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 5 * time.Second},
	Check:    clients.Any(services.LoadsOver(20), services.StaleReads),
	Variants: []lab.Variant{
		{Name: "one item expires", Run: services.OnCache(expiringItems(1, 0, false))},
		{Name: "one TTL", Expect: lab.Sometimes, Run: services.OnCache(expiringItems(fifty, 0, false))},
		{Name: "spread TTLs", Run: services.OnCache(expiringItems(fifty, time.Minute, false))},
		{Name: "one TTL, second level", Run: services.OnCache(expiringItems(fifty, 0, true))},
		{Name: "Redis restarts empty", Expect: lab.Sometimes, Fault: true, Run: services.OnCache(restartedRedis(false))},
		{Name: "Redis restarts empty, second level", Fault: true, Run: services.OnCache(restartedRedis(true))},
		{Name: "second level, another process updates", Expect: lab.Sometimes, Run: services.OnCache(updatedElsewhere)},
	},
})

// fifty items are filled.
const fifty = 50

// twoLevels is the cache of one process: Redis, with a second level over it or without one.
func twoLevels(x *services.Cache, cfg cache.Config, second bool) cache.Reader {
	aside := x.Aside(x.Connect(), cfg)
	if !second {
		return aside
	}
	local, err := cache.NewLocal(aside, 1000, services.CacheTTL)
	x.Must(err)
	return local
}

// fill writes n items and reads them. Its loads do not count. The write of the first item is recorded.
func fill(ctx context.Context, x *services.Cache, r cache.Reader, n int) {
	x.Filling = true
	for id := range uint64(n) {
		_, err := x.Items.Put(ctx, id+1, fmt.Sprint("item ", id+1))
		x.Must(err)
		_, err = r.Get(ctx, id+1)
		x.Must(err)
	}
	x.Filling = false
	x.Confirm(ctx, "before", 1)
}

// readAll reads n items at one moment. The loads are recorded, and the read of the first item.
func readAll(ctx context.Context, x *services.Cache, r cache.Reader, n int) {
	x.Read(ctx, "client", r, 1)
	for id := range uint64(n - 1) {
		_, err := r.Get(ctx, id+2)
		x.Must(err)
	}
}

// expiringItems fills n items, and lets time pass until all have expired.
func expiringItems(n int, spread time.Duration, second bool) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) {
		r := twoLevels(x, cache.Config{TTL: time.Minute, Spread: spread}, second)
		fill(ctx, x, r, n)
		x.PassTime(ctx, time.Minute)
		for range 10 {
			readAll(ctx, x, r, n)
			x.PassTime(ctx, 6*time.Second)
		}
	}
}

// restartedRedis fills fifty items, and restarts Redis without its data.
func restartedRedis(second bool) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) {
		r := twoLevels(x, cache.Config{}, second)
		fill(ctx, x, r, fifty)
		clients.Restart(ctx, x.Trial, x.Node)
		x.Must(servers.Until(ctx, func(ctx context.Context) error { // connections to the old server fail once
			_, err := r.Get(ctx, fifty)
			return err
		}))
		readAll(ctx, x, r, fifty)
	}
}

func updatedElsewhere(ctx context.Context, x *services.Cache) {
	one, other := twoLevels(x, cache.Config{}, true), x.Aside(x.Connect(), cache.Config{})
	x.Fill(ctx, "node-1", one, services.Item)
	x.Update(ctx, "node-2", cache.UpdateThenDelete{Database: x.Items, Cache: other}, services.Item)
	x.Read(ctx, "node-2", other, services.Item)
	x.Read(ctx, "node-1", one, services.Item)
}
