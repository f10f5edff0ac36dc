package claims

import (
	"context"
	"slices"
	"strings"
	"time"

	"locklab/cache"
	"locklab/experiments"
	"locklab/experiments/kit"
)

var _ = register(experiments.Experiment{
	ID:      "C4-delayed-double-delete",
	Title:   "Update the database, and delete the key",
	Article: "A3",
	Claim: `
		Delete-after-update leaves an old item in the cache in one interleaving; a second delete, later than the slowest reader, removes it.`,
	Says: `
		Two systems have no common transaction. The sequence of the steps alone cannot keep them equal. The article updates the database,
		deletes the key, and deletes it once more after two seconds. The TTL ends what is still wrong.`,
	Lesson: experiments.Lesson{
		Question: `
			A reader finds nothing in the cache, loads the item, and fills it in. A writer updates the database and deletes the key. In which
			interleaving does the cache keep the old item? Does a second delete help?`,
		Predict: `
			(a) In none: the delete comes after the update, so the next reader loads the new item. (b) In one: the reader has loaded before the
			update, and fills after the delete. (c) In most of them, so that a cache needs a lock.`,
		Why: `
			(b) for update-then-delete. The reader carries an old item in its memory, and no delete reaches it there. With delete-then-update a
			reader between the two steps fills the old item, and needs no special timing. With update-then-set the writer that updates
			first may fill last. A second delete removes whatever a reader has filled before it. A reader that is slower than the delay
			fills after it, and the old item stays until the TTL ends.`,
		Fix: `
			Update, then delete, with a TTL. Delete again after a delay that is longer than the slowest load and fill. Do not delete first, and
			do not set. A loader can also hold a lock that the writer takes, or fill only if no delete came since its load began.`,
		Limits: `
			Between the two deletes a reader may see the old item, and the writer has its answer already. A writer that dies in the delay never
			deletes again (C5-delete-log). The delay is a guess: nothing bounds how long a reader may be paused. The database is SQLite.`,
		Next:  "C5-delete-log, when the delete fails. C6-binlog, when another program writes. L11-pause-past-lease has the same gap with a lock.",
		Level: experiments.Medium,
	},
	Drawing: `
reader  ── GET: nothing ── SELECT: version 1 ─────────────────────────────── SET version 1
writer                                        ── UPDATE: version 2 ── DEL ─`,
	How: `
		R is a reader with three steps: GET, SELECT, SET. W is a writer with its steps UPDATE and DEL. Each step waits for its turn, and
		the next one begins when it is done. At the end another reader asks. Its answer must not be older than the update. The delayed
		second delete comes 200 ms after the first, when the reader has filled and one more reader has asked. Only reads after the last
		delete are judged. The last three variants play many interleavings, each with an item of its own, on one server.
		` + "`app lab explore C4`" + ` plays them, too, and shows the one that leaves an old item.`,
	Takes: 8 * time.Second,
	Check: kit.StaleReads,
	Variants: []experiments.Variant{
		{Name: "update, delete; the reader comes later", Run: kit.OnCache(oneInterleaving(updateDelete, "W W R R R"))},
		{Name: "update, delete", Expect: experiments.Sometimes, Run: kit.OnCache(oneInterleaving(updateDelete, "R R W W R"))},
		{Name: "delete, update", Expect: experiments.Sometimes, Run: kit.OnCache(oneInterleaving(deleteUpdate, "W R R R W"))},
		{Name: "update, set, by two writers", Expect: experiments.Sometimes, Run: kit.OnCache(twoSetters)},
		{Name: "delayed double delete", Run: kit.OnCache(oneInterleaving(doubleDelete(200*time.Millisecond), "R R W W R ? W"))},
		{
			Name: "double delete, before the reader fills", Expect: experiments.Sometimes,
			Run: kit.OnCache(oneInterleaving(doubleDelete(time.Millisecond), "R R W W W R")),
		},
		everyInterleaving(", one delete", experiments.Sometimes, updateDelete, 2, ""),
		everyInterleaving(", two deletes", experiments.Sometimes, doubleDelete(time.Millisecond), 3, ""),
		everyInterleaving(" in which the second delete is last", experiments.Never, doubleDelete(time.Millisecond), 3, "W"),
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

// doubleDelete may have a short delay: the second delete waits for its turn.
func doubleDelete(delay time.Duration) cacheWriter {
	return func(db cache.Writer, r *cache.Redis) cache.Writer {
		return &cache.DoubleDelete{UpdateThenDelete: cache.UpdateThenDelete{Database: db, Cache: r}, Delay: delay}
	}
}

// stepwise begins an actor that has connections of its own.
func stepwise(ctx context.Context, x *kit.Cache, name string, act func(a *kit.Actor, r *cache.Redis)) *kit.Actor {
	a := kit.NewActor(x.Trial, name)
	client := x.Connect()
	client.AddHook(a)
	r, err := cache.NewRedis(client, a.Reader(x.Items), cache.Config{Prefix: "item:", TTL: kit.CacheTTL})
	x.Must(err)
	a.Begin(ctx, func() { act(a, r) })
	return a
}

// playItem lets R read and W write an item, and then another reader read it. At a "?" one more reader reads it.
func playItem(ctx context.Context, x *kit.Cache, make cacheWriter, id uint64, interleaving string) {
	x.Must(x.Write(ctx, "before", x.Items, id))
	reader := stepwise(ctx, x, "R", func(_ *kit.Actor, r *cache.Redis) { x.Read(ctx, "R", r, id) })
	writer := stepwise(ctx, x, "W", func(a *kit.Actor, r *cache.Redis) {
		w := make(a.Writer(x.Items), r)
		_, err := w.Put(ctx, id, "by W")
		x.Must(err)
		if d, is := w.(*cache.DoubleDelete); is {
			x.Must(d.Close())
		}
		x.MustFollow("W", id)
	})
	asks := func(name string) { x.Read(ctx, name, x.Aside(x.Conn, cache.Config{}), id) }
	kit.Play(ctx, interleaving, func() { asks("reader 1") }, reader, writer)
	asks("reader 2")
}

func oneInterleaving(make cacheWriter, interleaving string) func(context.Context, *kit.Cache) {
	return func(ctx context.Context, x *kit.Cache) { playItem(ctx, x, make, kit.Item, interleaving) }
}

// everyInterleaving plays every interleaving of three steps of R and so many of W that ends with last.
func everyInterleaving(which string, expect experiments.Expect, make cacheWriter, steps int, last string) experiments.Variant {
	const old = "the item is old"
	run := kit.OnCache(func(ctx context.Context, x *kit.Cache) {
		all := slices.DeleteFunc(kit.Interleavings("R", 3, "W", steps), func(i string) bool { return !strings.HasSuffix(i, last) })
		for i, interleaving := range all {
			before := len(kit.StaleReads(x.Events()))
			x.Moment()
			x.Note("R and W", experiments.Plays+interleaving)
			playItem(ctx, x, make, uint64(i+1), interleaving)
			if len(kit.StaleReads(x.Events())) > before {
				x.Note("reader 2", old)
			}
		}
		x.Measure("R and W", int64(len(all)), "interleavings")
	})
	return experiments.Variant{Name: "every interleaving" + which, Expect: expect, Every: old, Run: run}
}

// twoSetters lets A update first and set last.
func twoSetters(ctx context.Context, x *kit.Cache) {
	x.Must(x.Write(ctx, "before", x.Items, kit.Item))
	var writers []*kit.Actor
	for _, name := range []string{"A", "B"} {
		writers = append(writers, stepwise(ctx, x, name, func(a *kit.Actor, r *cache.Redis) {
			_, err := cache.UpdateThenSet{Database: a.Writer(x.Items), Cache: r}.Put(ctx, kit.Item, "by "+name)
			x.Must(err)
			x.MustFollow(name, kit.Item)
		}))
	}
	kit.Play(ctx, "A B B A", nil, writers...)
	x.Read(ctx, "reader 2", x.Aside(x.Conn, cache.Config{}), kit.Item)
}
