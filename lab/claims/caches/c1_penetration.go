package caches

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/bits-and-blooms/bloom/v3"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/systems/cache"
)

var C1 = Experiments.Add(lab.Experiment{
	ID:       "C1-penetration",
	Articles: lab.Articles{"A3"},
	Claim: `
		Requests for an absent item reach the database each time; a cached empty answer stops them, and must be cleared on insert.`,
	Level:    lab.Basic,
	Start:    false,
	Schedule: lab.Schedule{Takes: 6 * time.Second},
	Check:    clients.Any(services.LoadsOver(bearable), keysOver, services.StaleReads),
	Variants: []lab.Variant{
		{Name: "the item exists", Run: services.OnCache(presentItem)},
		{Name: "absent, nothing is kept", Expect: lab.Sometimes, Run: services.OnCache(absentItem(0))},
		{Name: "absent, the empty answer is kept", Run: services.OnCache(absentItem(time.Minute))},
		{Name: "inserted, the empty answer is cleared", Run: services.OnCache(insertedItem(true))},
		{Name: "inserted, the empty answer stays", Expect: lab.Sometimes, Run: services.OnCache(insertedItem(false))},
		{Name: "random ids, empty answers are kept", Expect: lab.Sometimes, Run: services.OnCache(randomIDs(false))},
		{Name: "random ids, Bloom filter", Run: services.OnCache(randomIDs(true))},
		{Name: "inserted elsewhere, a filter in each process", Expect: lab.Sometimes, Run: services.OnCache(processFilters)},
		{Name: "inserted elsewhere, one filter in Redis", Run: services.OnCache(sharedFilter)},
	},
})

// bearable is how many loads the database bears, and how many keys Redis.
const bearable = 20

var keysInRedis = lab.Count.Of("keys in Redis")

// keysOver finds a Redis that is filled with keys that nobody asks for again.
func keysOver(trial []history.Event) []history.Violation {
	keys, found := clients.Measured(trial, "Redis", keysInRedis)
	if !found || keys.Value <= bearable {
		return nil
	}
	return []history.Violation{{What: fmt.Sprintf("%d empty answers fill Redis; it bears %d", keys.Value, bearable), Events: []int{keys.Seq}}}
}

func measureKeys(ctx context.Context, x *services.Cache) {
	keys, err := x.Conn.Keys(ctx, "item:*").Result()
	x.Must(err)
	x.Measure("Redis", int64(len(keys)), keysInRedis)
}

// askOften asks 60 times for one item.
func askOften(ctx context.Context, x *services.Cache, r cache.Reader) {
	for range 60 {
		x.Read(ctx, "client", r, services.Item)
	}
	measureKeys(ctx, x)
}

func presentItem(ctx context.Context, x *services.Cache) {
	r := x.Aside(x.Connect(), cache.Config{})
	x.Fill(ctx, "client", r, services.Item)
	askOften(ctx, x, r)
}

func absentItem(empty time.Duration) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) {
		askOften(ctx, x, x.Aside(x.Connect(), cache.Config{Empty: empty}))
	}
}

// insertedItem is absent when the client asks first. The writer of the insert deletes its key, or knows no cache.
func insertedItem(clears bool) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) {
		r := x.Aside(x.Connect(), cache.Config{Empty: time.Minute})
		x.Read(ctx, "client", r, services.Item)
		var w cache.Writer = x.Items
		if clears {
			w = cache.UpdateThenDelete{Database: x.Items, Cache: r}
		}
		x.Update(ctx, "writer", w, services.Item)
		x.Read(ctx, "client", r, services.Item)
	}
}

// randomIDs asks for 300 items that do not exist, with a filter in front or without one.
func randomIDs(filter bool) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) {
		aside := x.Aside(x.Connect(), cache.Config{Empty: time.Minute})
		var r cache.Reader = aside
		if filter {
			b := cache.NewBloom(x.Conn, "bloom", 1000, aside, x.Items)
			x.Must(b.Build(ctx, x.Items))
			r = b
		}
		for range 300 {
			x.Read(ctx, "client", r, x.Rand.Uint64N(1<<31)+1)
		}
		measureKeys(ctx, x)
	}
}

// ownFilter is a Bloom filter of one process.
type ownFilter struct {
	of    cache.Reader
	bloom *bloom.BloomFilter
}

func (f ownFilter) Get(ctx context.Context, id uint64) (cache.Item, error) {
	if !f.bloom.Test(binary.BigEndian.AppendUint64(nil, id)) {
		return cache.Item{}, cache.ErrNotFound
	}
	return f.of.Get(ctx, id)
}

func processFilters(ctx context.Context, x *services.Cache) {
	of := func() ownFilter {
		return ownFilter{x.Aside(x.Connect(), cache.Config{}), bloom.NewWithEstimates(1000, 0.01)}
	}
	one, other := of(), of()
	other.bloom.Add(binary.BigEndian.AppendUint64(nil, services.Item))
	x.Update(ctx, "node-2", x.Items, services.Item)
	x.Read(ctx, "node-2", other, services.Item)
	x.Read(ctx, "node-1", one, services.Item)
}

func sharedFilter(ctx context.Context, x *services.Cache) {
	of := func() *cache.Bloom {
		return cache.NewBloom(x.Connect(), "bloom", 1000, x.Aside(x.Connect(), cache.Config{}), x.Items)
	}
	one, other := of(), of()
	x.Must(one.Build(ctx, x.Items))
	x.Read(ctx, "node-1", one, services.Item) // it is absent, and no load is made
	x.Update(ctx, "node-2", other, services.Item)
	x.Read(ctx, "node-2", other, services.Item)
	x.Read(ctx, "node-1", one, services.Item)
}
