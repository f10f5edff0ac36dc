package caches

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/cache"
	"locklab/experiments"
	"locklab/experiments/clients"
	"locklab/experiments/services"
)

var C5 = experiments.Experiment{
	ID:       "C5-delete-log",
	Title:    "A delete that was not done",
	Articles: experiments.Articles{"A3"},
	Claim: `
		A writer that dies before its delete, or gets no reply, leaves an old item; a log in the update's transaction does the delete later.`,
	Says: `
		A delete that fails is written into a log, and a script deletes again what the log names. The article does not say when the log is
		written, nor what happens to a writer that dies.`,
	Lesson: experiments.Lesson{
		Question: `
			A writer updates the database, and dies before it deletes the key. Or Redis does not answer at that moment. What deletes the
			key?`,
		Predict: `
			(a) Nothing: the cache is old until the TTL ends. (b) The log of the failed deletes, in both cases. (c) The next reader, which sees
			that the item is old.`,
		Why: `
			(a), and that may be a week. A writer that logs a delete when it fails needs to live until then. So (b) is true only if the log is
			written before the delete, in the transaction of the update. Then there is never an update without its entry. The next
			process that reads the log does the delete, and removes the entry after it.`,
		Fix: `
			Write the entry in the transaction of the update. Delete the key, and then remove the entry. Let every instance retry what is in the
			log, also after a restart. A delete that is done twice does no harm. Keep a TTL all the same.`,
		Limits: `
			The cache is old from the update until the retry. A reader that has loaded before the update can still fill after the delete
			(C4-delayed-double-delete). All writers must use the log: for those that do not know the cache there is C6-binlog.`,
		Next:  "C6-binlog needs no help of the writer. L23-dead-holder kills the holder of a lock.",
		Level: experiments.Basic,
	},
	Drawing: `
writer   ── UPDATE and log ── ✗ killed        (no DEL)
another                                  ── reads the log ── DEL ── removes the entry`,
	How: `
		The cache has the item. A writer in a process of its own updates it, and is killed immediately before its DEL. Another process
		retries what is in the log, or there is none. Then a client reads. In two variants the writer lives, and its connection to Redis leads
		nowhere. There the first retry fails as well.`,
	Schedule: experiments.Schedule{Takes: 4 * time.Second},
	Check:    services.StaleReads,
	Variants: []experiments.Variant{
		{Name: "nothing fails, no log", Run: services.OnCache(undisturbedWriter)},
		{
			Name: "killed before the delete, no log", Expect: experiments.Sometimes, Fault: true,
			Run: services.OnCache(killedWriter(writeThenDelete, 0)),
		},
		{Name: "killed before the delete, log", Fault: true, Run: services.OnCache(killedWriter(writeWithLog, 1))},
		{Name: "Redis out of reach, no log", Expect: experiments.Sometimes, Fault: true, Run: services.OnCache(outOfReach(false))},
		{Name: "Redis out of reach, log", Fault: true, Run: services.OnCache(outOfReach(true))},
	},
}

func undisturbedWriter(ctx context.Context, x *services.Cache) {
	r := x.Aside(x.Connect(), cache.Config{})
	x.Fill(ctx, "reader", r, services.Item)
	x.Update(ctx, "W", cache.UpdateThenDelete{Database: x.Items, Cache: r}, services.Item)
	x.Read(ctx, "reader", r, services.Item)
}

// retryDeletes does what is in the log, which must have so many entries.
func retryDeletes(ctx context.Context, x *services.Cache, w cache.DeleteLog, entries int) error {
	n, err := w.Retry(ctx)
	if n != entries {
		x.Must(fmt.Errorf("the log has %d entries, not %d", n, entries))
	}
	x.Note("retry", fmt.Sprintf("the log has %d entries", n))
	return err
}

// The actions of a writer that is killed.
var (
	writeThenDelete = services.NewCacheAction("update, then delete", func(ctx context.Context, c *services.CacheClient) error {
		_, err := cache.UpdateThenDelete{Database: c.Items, Cache: c.Redis}.Put(ctx, c.Item, "by a process")
		return err
	})
	writeWithLog = services.NewCacheAction("update with a delete log", func(ctx context.Context, c *services.CacheClient) error {
		_, err := cache.DeleteLog{Database: c.Items, Cache: c.Redis}.Put(ctx, c.Item, "by a process")
		return err
	})
)

// killedWriter kills a writer before its delete. Another process finds so many entries in the log.
func killedWriter(do services.CacheAction, entries int) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) {
		r := x.Aside(x.Connect(), cache.Config{})
		x.Fill(ctx, "reader", r, services.Item)
		x.KillCacheProcess(ctx, "W", do, "DEL")
		x.Confirm(ctx, "W", services.Item)
		x.Must(retryDeletes(ctx, x, cache.DeleteLog{Database: x.Items, Cache: r}, entries))
		x.MustFollow("retry", services.Item)
		x.Read(ctx, "reader", r, services.Item)
	}
}

// outOfReach ends the proxy between the writer and Redis.
func outOfReach(logged bool) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) {
		r := x.Aside(x.Connect(), cache.Config{})
		x.Fill(ctx, "reader", r, services.Item)
		proxy, err := x.Stack.Proxy("proxy", x.Node.Addr)
		x.Must(err)
		client := redis.NewClient(clients.OneAttempt(proxy.Addr))
		x.Cleanup(client.Close)
		far := x.Aside(client, cache.Config{})
		x.Fault("proxy", "the writer does not reach Redis", clients.EndProxy(ctx, x.Trial, proxy))
		if logged {
			x.Must(x.Write(ctx, "W", cache.DeleteLog{Database: x.Items, Cache: far}, services.Item))
			if retryDeletes(ctx, x, cache.DeleteLog{Database: x.Items, Cache: far}, 1) == nil {
				x.Must(errors.New("a delete without Redis succeeds"))
			}
			x.Must(retryDeletes(ctx, x, cache.DeleteLog{Database: x.Items, Cache: r}, 1))
		} else if x.Write(ctx, "W", cache.UpdateThenDelete{Database: x.Items, Cache: far}, services.Item) == nil {
			x.Must(errors.New("a delete without Redis succeeds"))
		}
		x.MustFollow("W", services.Item)
		x.Read(ctx, "reader", r, services.Item)
	}
}
