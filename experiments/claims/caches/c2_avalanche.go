package caches

import (
	"context"
	"fmt"
	"time"

	"locklab/cache"
	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/services"
	"locklab/stack"
)

var C2 = experiments.Experiment{
	ID:       "C2-avalanche",
	Title:    "Items that expire together",
	Articles: experiments.Articles{"A3"},
	Claim: `
		Items with one TTL expire together and reach the database together; spread TTLs and a second level in the process flatten that.`,
	Says: `
		Many keys expire at the same time, or Redis restarts, and all requests go to the database. The article gives each key another TTL,
		adds a second level of the cache, and makes Redis highly available.`,
	Lesson: experiments.Lesson{
		Question: `
			An instance starts and fills its cache with fifty items, each for one minute. What does the database see a minute later? What does it
			see when Redis restarts without its data?`,
		Predict: `
			(a) A few loads for each second: requests come spread anyway. (b) Fifty loads at one moment, in both cases. (c) Fifty loads
			after the minute, and none after the restart, because the TTLs are not over.`,
		Why: `
			(b). Items that were filled together expire together. A random part added to each TTL spreads them over a time as long as that part.
			It does nothing against a Redis that restarts: then all keys are gone, whatever their TTL. A second level in the process
			still has the items then. Its price is age: a write by another process does not reach it.`,
		Fix: `
			Add a random part to each TTL, as large as the TTL itself. Keep a small second level with a short TTL for the hot items. Limit the
			loads that run simultaneously (C3-breakdown), so that an empty Redis is filled slowly and the database survives.`,
		Limits: `
			A moment here is the time between two steps of the run, and not a second: real requests come spread. Time does not pass, but the keys
			live shorter. High availability, the article's third remedy, is not run: F01 to F04 show what a failover loses.`,
		Next:  "C3-breakdown, one hot item instead of many. C6-binlog tells all processes what has changed.",
		Level: experiments.Basic,
	},
	Drawing: `
fill     ─ 50 items, TTL 60 s ─
                                60 s later: ┤ 50 loads at one moment
spread   ─ 50 items, TTL 60 to 120 s ─ 5 ─ 4 ─ 6 ─ 5 ─ 5 ─ …`,
	How: `
		A client fills fifty items. Time passes in eleven steps: first a minute, then ten times six seconds. After each step the
		client reads all items. The database bears 20 loads at one moment. In two variants Redis is killed and starts again without its data.
		In the last one another process updates an item that the second level has: the load that fills it counts.`,
	Schedule: experiments.Schedule{Takes: 5 * time.Second},
	Check:    clients.Any(services.LoadsOver(20), services.StaleReads),
	Variants: []experiments.Variant{
		{Name: "one item expires", Run: services.OnCache(expiringItems(1, 0, false))},
		{Name: "one TTL", Expect: experiments.Sometimes, Run: services.OnCache(expiringItems(fifty, 0, false))},
		{Name: "spread TTLs", Run: services.OnCache(expiringItems(fifty, time.Minute, false))},
		{Name: "one TTL, second level", Run: services.OnCache(expiringItems(fifty, 0, true))},
		{Name: "Redis restarts empty", Expect: experiments.Sometimes, Fault: true, Run: services.OnCache(restartedRedis(false))},
		{Name: "Redis restarts empty, second level", Fault: true, Run: services.OnCache(restartedRedis(true))},
		{Name: "second level, another process updates", Expect: experiments.Sometimes, Run: services.OnCache(updatedElsewhere)},
	},
}

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
	x.Cleanup(local.Close)
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
		x.Must(stack.Until(ctx, func(ctx context.Context) error { // connections to the old server fail once
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
