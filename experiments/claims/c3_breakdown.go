package claims

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/cache"
	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:      "C3-breakdown",
	Title:   "A hot item expires",
	Article: "A3",
	Claim:   "When a hot item expires, every request goes to the database; a lock lets one load, and singleflight one for each process.",
	Says: `
		One item has very many requests, and it expires. The article takes a lock with SETNX: the holder looks into the cache, loads and
		fills, and the others wait. Or the item has no expiry, and then writes must reach the cache.`,
	Errata: []experiments.Erratum{{
		Article: "A3",
		What: `
			The listing against the breakdown is a bare SETNX: it has no expiry, no delete and no else branch. So nobody waits, against the
			prose: those who are refused get no answer. The key stays, and when the item expires again nobody loads it.`,
	}},
	Lesson: experiments.Lesson{
		Question: `
			Two instances have twenty requests each for one item, at the moment when it expires. How many loads does the database see without
			protection, with singleflight in each instance, with a lock in Redis, and with A3's SETNX?`,
		Predict: `
			(a) Forty, one, one and one. (b) Forty, two, one and one, but with SETNX some requests get no answer. (c) Forty, forty, two and
			one.`,
		Why: `
			(b). All forty have found nothing before the first of them fills. Singleflight shares an answer inside one process. The other
			process has its own, as the mutex of v2 has. A lock in Redis is one for both. Its holder looks into the cache again before it
			loads, so the second holder finds the item. A3's SETNX has no other branch, and 39 requests get nothing. Nobody deletes the
			key: at the next expiry all are refused. With a delete, a holder that dies before it has the same result.`,
		Fix: `
			Use a lock with a lease, and look again inside it. Put singleflight before it: then each process waits once, and not once for each
			request. Where an old answer is good enough, keep the item without a TTL and refresh it in the background: nobody waits.`,
		Limits: `
			The lease of the lock must be longer than a load. If it is not, a second load begins, which does no harm here. Refreshing makes
			the age of an answer a setting: after an update the cache is old until the next refresh. One item is hot; for many see C2. The two
			processes are two caches in one program, each with a singleflight of its own.`,
		Next: "P2-process-mutex (one lock for each process), L01-no-expiry and L23-dead-holder (a holder that dies). " +
			"By hand: `app lab step L01`.",
		Level: experiments.Basic,
	},
	Drawing: `
node-1   20 × GET: nothing ─ 20 × SELECT
node-2   20 × GET: nothing ─ 20 × SELECT
                            ↑ the first fill comes later than all of them`,
	How: `
		Each of two processes has twenty simultaneous requests for one item. A load waits until all forty requests have found nothing in
		Redis. So none of them can profit from another's fill. The database bears one load. With A3's listing the item
		expires once more. In two variants a process takes the lock and is killed before it loads. The refreshed item is due, and all
		forty requests are answered while its load waits.`,
	Takes: 8 * time.Second,
	Check: kit.Any(kit.LoadsOver(1), kit.NoAnswers, kit.StaleReads, kit.Noted(string(steps.OrphanedLock))),
	Variants: []experiments.Variant{
		{Name: "it is in the cache", Run: kit.OnCache(hotCached)},
		{Name: "nothing", Expect: experiments.Sometimes, Run: kit.OnCache(hot(2, unprotected))},
		{Name: "singleflight, one process", Run: kit.OnCache(hot(1, inFlight))},
		{Name: "singleflight, two processes", Expect: experiments.Sometimes, Run: kit.OnCache(hot(2, inFlight))},
		{Name: "lock", Run: kit.OnCache(hot(2, underLock))},
		{Name: "singleflight and lock", Run: kit.OnCache(hot(2, inFlightAndLock))},
		{Name: "SETNX as printed", Expect: experiments.Sometimes, Run: kit.OnCache(printedSETNX)},
		{Name: "SETNX and DEL, the holder is killed", Expect: experiments.Sometimes, Fault: true, Run: kit.OnCache(killedSETNX)},
		{Name: "lock, the holder is killed", Fault: true, Run: kit.OnCache(killedUnderLease)},
		{Name: "no TTL, refreshed", Run: kit.OnCache(refreshedItem(false))},
		{Name: "no TTL, refreshed, after an update", Expect: experiments.Sometimes, Run: kit.OnCache(refreshedItem(true))},
	},
})

// hotRequests is how many requests one process has at one moment.
const hotRequests = 20

// protection makes the reader of one process.
type protection func(x *kit.Cache, name string, client redis.UniversalClient) cache.Reader

func unprotected(x *kit.Cache, _ string, client redis.UniversalClient) cache.Reader {
	return x.Aside(client, cache.Config{})
}

func inFlight(x *kit.Cache, _ string, client redis.UniversalClient) cache.Reader {
	return cache.NewSingleFlight(x.Aside(client, cache.Config{}))
}

func lockedCache(x *kit.Cache, name string, client redis.UniversalClient) cache.Locked {
	lock := kit.RedisLock(x.Trial, name, x.Connect(), kit.LongLease).Lock
	return cache.Locked{Cache: x.Aside(client, cache.Config{}), Lock: lockstrategy.Guard{Strategy: lock}}
}

func underLock(x *kit.Cache, name string, client redis.UniversalClient) cache.Reader {
	return lockedCache(x, name, client)
}

func inFlightAndLock(x *kit.Cache, name string, client redis.UniversalClient) cache.Reader {
	return cache.NewSingleFlight(lockedCache(x, name, client))
}

func bySETNX(poll time.Duration) protection {
	return func(x *kit.Cache, _ string, client redis.UniversalClient) cache.Reader {
		return kit.BareSETNX{Cache: x.Aside(client, cache.Config{}), Client: client, Poll: poll}
	}
}

// crowd is processes that ask for one item.
type crowd struct {
	*kit.Cache
	names   []string
	readers []cache.Reader
	misses  *kit.Misses
}

func newCrowd(x *kit.Cache, processes int, p protection) *crowd {
	c := &crowd{Cache: x, misses: new(kit.Misses)}
	for _, name := range []string{"node-1", "node-2"}[:processes] {
		client := x.Connect()
		client.AddHook(c.misses)
		c.names, c.readers = append(c.names, name), append(c.readers, p(x, name, client))
	}
	return c
}

// ask begins all requests, and returns a function that waits for their answers.
func (c *crowd) ask(ctx context.Context) (wait func()) {
	var waits []func()
	for i, r := range c.readers {
		for range hotRequests {
			waits = append(waits, c.Go(func() { c.Read(ctx, c.names[i], r, kit.Item) }))
		}
	}
	return func() {
		for _, wait := range waits {
			wait()
		}
	}
}

// burst asks, and lets loads wait until all requests have found nothing.
func (c *crowd) burst(ctx context.Context) {
	release := c.HoldLoads()
	defer release()
	before := c.misses.Load()
	wait := c.ask(ctx)
	c.Must(stack.Until(ctx, func(context.Context) error {
		if c.misses.Load()-before < int64(hotRequests*len(c.readers)) {
			return errors.New("not all requests have found nothing")
		}
		return nil
	}))
	release()
	wait()
}

func hot(processes int, p protection) func(context.Context, *kit.Cache) {
	return func(ctx context.Context, x *kit.Cache) {
		x.Must(x.Write(ctx, "before", x.Items, kit.Item))
		newCrowd(x, processes, p).burst(ctx)
	}
}

func hotCached(ctx context.Context, x *kit.Cache) {
	c := newCrowd(x, 2, unprotected)
	x.Fill(ctx, "before", c.readers[0], kit.Item)
	c.ask(ctx)()
}

// printedSETNX lets the item expire a second time.
func printedSETNX(ctx context.Context, x *kit.Cache) {
	x.Must(x.Write(ctx, "before", x.Items, kit.Item))
	c := newCrowd(x, 2, bySETNX(0))
	c.burst(ctx)
	x.PassTime(ctx, kit.CacheTTL)
	x.Read(ctx, "reader 2", c.readers[0], kit.Item)
}

// killedSETNX kills the holder before it loads. The others look again for a while, and the key has no expiry.
func killedSETNX(ctx context.Context, x *kit.Cache) {
	x.Must(x.Write(ctx, "before", x.Items, kit.Item))
	x.KillCacheProcess(ctx, "A", kit.CacheTask{Do: kit.ReadSETNX, Stop: "load"})
	left, err := x.Conn.PTTL(ctx, cache.LockKey(kit.Item)).Result()
	x.Must(err)
	if left == -1 { // it exists, and does not expire
		x.Record(history.Event{Timeline: "Redis", Kind: history.Left, Key: cache.LockKey(kit.Item), Text: string(steps.OrphanedLock)})
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	newCrowd(x, 2, bySETNX(10*time.Millisecond)).ask(short)()
}

// killedUnderLease kills the holder before it loads. Its lease ends.
func killedUnderLease(ctx context.Context, x *kit.Cache) {
	x.Must(x.Write(ctx, "before", x.Items, kit.Item))
	x.KillCacheProcess(ctx, "A", kit.CacheTask{Do: kit.ReadLocked, Stop: "load"})
	newCrowd(x, 2, inFlightAndLock).ask(ctx)()
}

// refreshedItem lets all requests come when the item is due. All are answered before its load goes on.
func refreshedItem(updated bool) func(context.Context, *kit.Cache) {
	return func(ctx context.Context, x *kit.Cache) {
		var caches []*cache.Refreshing
		c := newCrowd(x, 2, func(x *kit.Cache, _ string, client redis.UniversalClient) cache.Reader {
			r, err := cache.NewRefreshing(client, x.Source(), "item:", kit.CacheTTL)
			x.Must(err)
			caches = append(caches, r)
			return r
		})
		x.Fill(ctx, "before", c.readers[0], kit.Item)
		x.PassTime(ctx, kit.CacheTTL)
		if updated {
			x.Update(ctx, "writer", x.Items, kit.Item)
		}
		release := x.HoldLoads()
		defer release()
		c.ask(ctx)()
		release()
		for _, r := range caches {
			x.Must(r.Close())
		}
	}
}
