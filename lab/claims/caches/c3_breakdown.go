package caches

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/explore"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/lockstrategy"
	"locklab/systems/cache"
	"locklab/versions"
)

var C3 = Experiments.Add(lab.Experiment{
	ID:       "C3-breakdown",
	Articles: lab.Articles{"A3"},
	Claim:    "When a hot item expires, every request goes to the database; a lock lets one load, and singleflight one for each process.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 8 * time.Second},
	Check:    clients.Any(services.LoadsOver(1), noAnswers, services.StaleReads, clients.Noted(explore.OrphanedLock.Mark())),
	Variants: []lab.Variant{
		{Name: "it is in the cache", Run: services.OnCache(hotCached)},
		{Name: "nothing", Expect: lab.Sometimes, Run: services.OnCache(hot(2, unprotected))},
		{Name: "singleflight, one process", Run: services.OnCache(hot(1, inFlight))},
		{Name: "singleflight, two processes", Expect: lab.Sometimes, Run: services.OnCache(hot(2, inFlight))},
		{Name: "lock", Run: services.OnCache(hot(2, underLock))},
		{Name: "singleflight and lock", Run: services.OnCache(hot(2, inFlightAndLock))},
		{Name: "SETNX as printed", Expect: lab.Sometimes, Run: services.OnCache(printedSETNX)},
		{Name: "SETNX and DEL, the holder is killed", Expect: lab.Sometimes, Fault: true, Run: services.OnCache(killedSETNX)},
		{Name: "lock, the holder is killed", Fault: true, Run: services.OnCache(killedUnderLease)},
		{Name: "no TTL, refreshed", Run: services.OnCache(refreshedItem(false))},
		{Name: "no TTL, refreshed, after an update", Expect: lab.Sometimes, Run: services.OnCache(refreshedItem(true))},
	},
})

// hotRequests is how many requests one process has at one moment.
const hotRequests = 20

// protection makes the reader of one process.
type protection func(x *services.Cache, name string, client redis.UniversalClient) cache.Reader

func unprotected(x *services.Cache, _ string, client redis.UniversalClient) cache.Reader {
	return x.Aside(client, cache.Config{})
}

func inFlight(x *services.Cache, _ string, client redis.UniversalClient) cache.Reader {
	return cache.NewSingleFlight(x.Aside(client, cache.Config{}))
}

func lockedCache(x *services.Cache, name string, client redis.UniversalClient) cache.Locked {
	lock := clients.RedisLock(x.Trial, name, x.Connect(), clients.LongLease).Lock
	return cache.Locked{Cache: x.Aside(client, cache.Config{}), Lock: lockstrategy.Guard{Strategy: lock}}
}

func underLock(x *services.Cache, name string, client redis.UniversalClient) cache.Reader {
	return lockedCache(x, name, client)
}

func inFlightAndLock(x *services.Cache, name string, client redis.UniversalClient) cache.Reader {
	return cache.NewSingleFlight(lockedCache(x, name, client))
}

func bySETNX(poll time.Duration) protection {
	return func(x *services.Cache, _ string, client redis.UniversalClient) cache.Reader {
		return bareSETNX{Cache: x.Aside(client, cache.Config{}), Client: client, Poll: poll}
	}
}

// The actions of a process that is killed.
var (
	readLocked = services.NewCacheTask("read, with a lock that has a lease", func(ctx context.Context, c *services.CacheClient) error {
		lock, err := versions.Open(versions.NameRedis, versions.Backends{Redis: c.Client, Expiry: c.Lease})
		if err != nil {
			return err
		}
		_, err = cache.Locked{Cache: c.Redis, Lock: lockstrategy.Guard{Strategy: lock.Strategy}}.Get(ctx, services.Item)
		return err
	})
	readSETNX = services.NewCacheTask("read, with SETNX", func(ctx context.Context, c *services.CacheClient) error {
		_, err := bareSETNX{c.Redis, c.Client, time.Millisecond}.Get(ctx, services.Item)
		return err
	})
)

// crowd is processes that ask for one item.
type crowd struct {
	*services.Cache
	names   []string
	readers []cache.Reader
	misses  atomic.Int64 // keys that a client asked for and Redis did not have
}

func newCrowd(x *services.Cache, processes int, p protection) *crowd {
	c := &crowd{Cache: x}
	for _, name := range []string{"node-1", "node-2"}[:processes] {
		client := x.Connect()
		client.AddHook(clients.EachCommand(c.countMiss))
		c.names, c.readers = append(c.names, name), append(c.readers, p(x, name, client))
	}
	return c
}

// countMiss is a [clients.EachCommand].
func (c *crowd) countMiss(ctx context.Context, cmd redis.Cmder, send redis.ProcessHook) error {
	err := send(ctx, cmd)
	if cmd.Name() == "get" && errors.Is(err, redis.Nil) {
		c.misses.Add(1)
	}
	return err
}

// ask begins all requests, and returns a function that waits for their answers.
func (c *crowd) ask(ctx context.Context) (wait func()) {
	return c.GoEach(hotRequests*len(c.readers), func(i int) {
		process := i / hotRequests
		c.Read(ctx, c.names[process], c.readers[process], services.Item)
	})
}

// burst asks, and lets loads wait until all requests have found nothing.
func (c *crowd) burst(ctx context.Context) {
	release := c.HoldLoads()
	defer release()
	before := c.misses.Load()
	wait := c.ask(ctx)
	c.Must(servers.Until(ctx, func(context.Context) error {
		if c.misses.Load()-before < int64(hotRequests*len(c.readers)) {
			return errors.New("not all requests have found nothing")
		}
		return nil
	}))
	release()
	wait()
}

func hot(processes int, p protection) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) {
		x.Must(x.Write(ctx, "before", x.Items, services.Item))
		newCrowd(x, processes, p).burst(ctx)
	}
}

func hotCached(ctx context.Context, x *services.Cache) {
	c := newCrowd(x, 2, unprotected)
	x.Fill(ctx, "before", c.readers[0], services.Item)
	c.ask(ctx)()
}

// printedSETNX lets the item expire a second time.
func printedSETNX(ctx context.Context, x *services.Cache) {
	x.Must(x.Write(ctx, "before", x.Items, services.Item))
	c := newCrowd(x, 2, bySETNX(0))
	c.burst(ctx)
	x.PassTime(ctx, services.CacheTTL)
	x.Read(ctx, "reader 2", c.readers[0], services.Item)
}

// killedSETNX kills the holder before it loads. The others look again for a while, and the key has no expiry.
func killedSETNX(ctx context.Context, x *services.Cache) {
	x.Must(x.Write(ctx, "before", x.Items, services.Item))
	x.KillProcess(ctx, "A", readSETNX, "load")
	left, err := x.Conn.PTTL(ctx, cache.LockKey(services.Item)).Result()
	x.Must(err)
	if left == -1 { // it exists, and does not expire
		x.Record(explore.OrphanedLock.Mark().On(history.Event{Timeline: "Redis", Kind: history.Left, Key: cache.LockKey(services.Item)}))
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	newCrowd(x, 2, bySETNX(10*time.Millisecond)).ask(short)()
}

// killedUnderLease kills the holder before it loads. Its lease ends.
func killedUnderLease(ctx context.Context, x *services.Cache) {
	x.Must(x.Write(ctx, "before", x.Items, services.Item))
	x.KillProcess(ctx, "A", readLocked, "load")
	newCrowd(x, 2, inFlightAndLock).ask(ctx)()
}

// refreshedItem lets all requests come when the item is due. All are answered before its load goes on.
func refreshedItem(updated bool) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) {
		var caches []*cache.Refreshing
		c := newCrowd(x, 2, func(x *services.Cache, _ string, client redis.UniversalClient) cache.Reader {
			r, err := cache.NewRefreshing(client, x.Source(), "item:", services.CacheTTL)
			x.Must(err)
			caches = append(caches, r)
			return r
		})
		x.Fill(ctx, "before", c.readers[0], services.Item)
		x.PassTime(ctx, services.CacheTTL)
		if updated {
			x.Update(ctx, "writer", x.Items, services.Item)
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

// errNobodyLoads says that the caller was refused the lock, and has no answer.
var errNobodyLoads = errors.New("another caller has the lock, and there is no answer")

// bareSETNX is A3's listing against the breakdown of a hot key. It takes the lock with SETNX: without an expiry, without a delete, and
// with nothing for those who are refused. The key stays for ever, and so nobody loads the item when it expires the next time.
type bareSETNX struct {
	cache.Cache
	Client redis.Cmdable
	Poll   time.Duration // 0: as printed. Otherwise as the prose has it: the key is deleted, and the others look again after so long
}

// Get implements [cache.Reader].
func (b bareSETNX) Get(ctx context.Context, id uint64) (cache.Item, error) {
	for {
		if item, err := b.Cached(ctx, id); !errors.Is(err, cache.ErrMiss) {
			return item, err
		}
		granted, err := b.Client.SetNX(ctx, cache.LockKey(id), 1, 0).Result()
		switch {
		case err != nil:
			return cache.Item{}, err
		case granted:
			item, err := b.Cache.Get(ctx, id)
			if b.Poll > 0 { // a holder that dies before this line leaves the key
				err = errors.Join(err, b.Client.Del(ctx, cache.LockKey(id)).Err())
			}
			return item, err
		case b.Poll == 0:
			return cache.Item{}, errNobodyLoads
		}
		select {
		case <-time.After(b.Poll):
		case <-ctx.Done():
			return cache.Item{}, errors.Join(errNobodyLoads, ctx.Err())
		}
	}
}

// noAnswers is a check that finds reads that got no answer.
func noAnswers(trial []history.Event) (found []history.Violation) {
	var seqs []int
	for _, e := range trial {
		if e.Kind == history.Refuse {
			seqs = append(seqs, e.Seq)
		}
	}
	if len(seqs) > 0 {
		found = []history.Violation{{What: fmt.Sprintf("%d reads got no answer", len(seqs)), Events: seqs}}
	}
	return found
}
