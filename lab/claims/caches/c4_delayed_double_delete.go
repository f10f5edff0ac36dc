package caches

import (
	"context"
	"slices"
	"strings"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/systems/cache"
)

var C4 = Experiments.Add(lab.Experiment{
	ID:       "C4-delayed-double-delete",
	Articles: lab.Articles{"A3"},
	Claim: `
		Delete-after-update leaves an old item in the cache in one interleaving; a second delete, later than the slowest reader, removes it.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 8 * time.Second},
	Check:    services.StaleReads,
	Variants: []lab.Variant{
		{Name: "update, delete; the reader comes later", Run: services.OnCache(onItem(readerAndWriter(updateDelete), "W W R R R"))},
		{Name: "update, delete", Expect: lab.Sometimes, Run: services.OnCache(onItem(readerAndWriter(updateDelete), "R R W W R"))},
		{Name: "delete, update", Expect: lab.Sometimes, Run: services.OnCache(onItem(readerAndWriter(deleteUpdate), "W R R R W"))},
		{Name: "update, set, by two writers", Expect: lab.Sometimes, Run: services.OnCache(onItem(twoWriters(updateSet), "A B B A"))},
		{Name: "set, update, by two writers", Expect: lab.Sometimes, Run: services.OnCache(onItem(twoWriters(setUpdate), "A B B A"))},
		{Name: "delayed double delete", Run: services.OnCache(onItem(readerAndWriter(doubleDelete(200*time.Millisecond)), "R R W W R ? W"))},
		{
			Name: "double delete, before the reader fills", Expect: lab.Sometimes,
			Run: services.OnCache(onItem(readerAndWriter(quickDoubleDelete), "R R W W W R")),
		},
		everyInterleaving(", one delete", lab.Sometimes, readerAndWriter(updateDelete), explore.Interleavings("R", 3, "W", 2)),
		everyInterleaving(", two deletes", lab.Sometimes, readerAndWriter(quickDoubleDelete), explore.Interleavings("R", 3, "W", 3)),
		everyInterleaving(
			" in which the second delete is last", lab.Never, readerAndWriter(quickDoubleDelete),
			lastIs("W", explore.Interleavings("R", 3, "W", 3)),
		),
		everyInterleaving(", update and set by two writers", lab.Sometimes, twoWriters(updateSet), explore.Interleavings("A", 2, "B", 2)),
		everyInterleaving(", set and update by two writers", lab.Sometimes, twoWriters(setUpdate), explore.Interleavings("A", 2, "B", 2)),
	},
})

// cacheWriter makes a writer of a database and a cache.
type cacheWriter func(db cache.Writer, r *cache.Redis) cache.Writer

func updateDelete(db cache.Writer, r *cache.Redis) cache.Writer {
	return cache.UpdateThenDelete{Database: db, Cache: r}
}

func deleteUpdate(db cache.Writer, r *cache.Redis) cache.Writer {
	return cache.DeleteThenUpdate{Database: db, Cache: r}
}

func updateSet(db cache.Writer, r *cache.Redis) cache.Writer {
	return cache.UpdateThenSet{Database: db, Cache: r}
}

func setUpdate(db cache.Writer, r *cache.Redis) cache.Writer {
	return cache.SetThenUpdate{Database: db, Cache: r}
}

func doubleDelete(delay time.Duration) cacheWriter {
	return func(db cache.Writer, r *cache.Redis) cache.Writer {
		return &cache.DoubleDelete{UpdateThenDelete: cache.UpdateThenDelete{Database: db, Cache: r}, Delay: delay}
	}
}

// quickDoubleDelete leaves the moment of the second delete to the interleaving.
var quickDoubleDelete = doubleDelete(time.Millisecond)

// stepwise begins an actor that has connections of its own.
func stepwise(ctx context.Context, x *services.Cache, name string, act func(a *actor, r *cache.Redis)) *explore.Actor {
	a := &actor{Actor: explore.NewActor(name), t: x.Trial}
	client := x.Connect()
	client.AddHook(clients.EachCommand(a.command))
	r, err := cache.NewRedis(client, a.reader(x.Items), cache.Config{Prefix: "item:", TTL: services.CacheTTL})
	x.Must(err)
	x.Must(a.Begin(ctx, x.Go, func() { act(a, r) }))
	return a.Actor
}

// play plays an interleaving of its actors' steps with an item that the database has. Then reader 2 reads the item.
type play func(ctx context.Context, x *services.Cache, id uint64, interleaving string)

// readerAndWriter lets R read and W write. At a "?" one more reader reads.
func readerAndWriter(make cacheWriter) play {
	return func(ctx context.Context, x *services.Cache, id uint64, interleaving string) {
		x.Must(x.Write(ctx, "before", x.Items, id))
		reader := stepwise(ctx, x, "R", func(_ *actor, r *cache.Redis) { x.Read(ctx, "R", r, id) })
		writer := stepwise(ctx, x, "W", func(a *actor, r *cache.Redis) {
			w := make(a.writer(x.Items), r)
			_, err := w.Put(ctx, id, "by W")
			x.Must(err)
			if d, is := w.(*cache.DoubleDelete); is {
				x.Must(d.Close())
			}
			x.MustFollow("W", id)
		})
		asks := func(name string) { x.Read(ctx, name, x.Aside(x.Conn, cache.Config{}), id) }
		x.Must(explore.MoveActors(ctx, interleaving, func() { asks("reader 1") }, reader, writer))
		asks("reader 2")
	}
}

// twoWriters lets A and B write.
func twoWriters(make cacheWriter) play {
	return func(ctx context.Context, x *services.Cache, id uint64, interleaving string) {
		x.Must(x.Write(ctx, "before", x.Items, id))
		var writers []*explore.Actor
		for _, name := range []string{"A", "B"} {
			writers = append(writers, stepwise(ctx, x, name, func(a *actor, r *cache.Redis) {
				_, err := make(a.writer(x.Items), r).Put(ctx, id, "by "+name)
				x.Must(err)
				x.MustFollow(name, id)
			}))
		}
		x.Must(explore.MoveActors(ctx, interleaving, nil, writers...))
		x.Read(ctx, "reader 2", withVersion{x.Aside(x.Conn, cache.Config{}), x}, id)
	}
}

// withVersion is a reader that finds an item's version by its text, in the recorded writes. A cache that is filled first has no version.
type withVersion struct {
	cache.Reader
	x *services.Cache
}

func (c withVersion) Get(ctx context.Context, id uint64) (cache.Item, error) {
	item, err := c.Reader.Get(ctx, id)
	for _, e := range c.x.Events() {
		if e.Kind == history.Write && e.Key == services.ItemKey(id) && item.Text == "by "+e.Timeline {
			item.Version = e.Value
		}
	}
	return item, err
}

func onItem(p play, interleaving string) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) { p(ctx, x, services.Item, interleaving) }
}

// everyInterleaving plays all of them, each with an item of its own.
func everyInterleaving(which string, expect lab.Expect, p play, all []string) lab.Variant {
	const old explore.Violation = "the item is old"
	run := services.OnCache(func(ctx context.Context, x *services.Cache) {
		for i, interleaving := range all {
			before := len(services.StaleReads(x.Events()))
			x.Moment()
			x.Record(history.Event{Timeline: "actors", Kind: history.Note, Name: history.Interleaving, Text: interleaving})
			p(ctx, x, uint64(i+1), interleaving)
			if len(services.StaleReads(x.Events())) > before {
				x.Mark("reader 2", old.Mark())
			}
		}
		x.Measure("actors", int64(len(all)), lab.Count.Of("interleavings"))
	})
	return lab.Variant{Name: "every interleaving" + which, Expect: expect, Every: old, Run: run}
}

// lastIs leaves those interleavings that end with a step of an actor.
func lastIs(name string, all []string) []string {
	return slices.DeleteFunc(all, func(i string) bool { return !strings.HasSuffix(i, name) })
}
