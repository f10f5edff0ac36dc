package caches

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/systems/cache"
)

var C5 = Experiments.Add(lab.Experiment{
	ID:       "C5-delete-log",
	Articles: lab.Articles{"A3"},
	Claim: `
		A writer that dies before its delete, or gets no reply, leaves an old item; a log in the update's transaction does the delete later.`,
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 4 * time.Second},
	Check:    services.StaleReads,
	Variants: []lab.Variant{
		{Name: "nothing fails, no log", Run: services.OnCache(services.HelpfulWriter("W"))},
		{
			Name: "killed before the delete, no log", Expect: lab.Sometimes, Fault: true,
			Run: services.OnCache(killedWriter(writeThenDelete, 0)),
		},
		{Name: "killed before the delete, log", Fault: true, Run: services.OnCache(killedWriter(writeWithLog, 1))},
		{Name: "Redis out of reach, no log", Expect: lab.Sometimes, Fault: true, Run: services.OnCache(outOfReach(false))},
		{Name: "Redis out of reach, log", Fault: true, Run: services.OnCache(outOfReach(true))},
	},
})

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
	writeThenDelete = services.NewCacheTask("update, then delete", func(ctx context.Context, c *services.CacheClient) error {
		_, err := cache.UpdateThenDelete{Database: c.Items, Cache: c.Redis}.Put(ctx, services.Item, "by a process")
		return err
	})
	writeWithLog = services.NewCacheTask("update with a delete log", func(ctx context.Context, c *services.CacheClient) error {
		_, err := cache.DeleteLog{Database: c.Items, Cache: c.Redis}.Put(ctx, services.Item, "by a process")
		return err
	})
)

// killedWriter kills a writer before its delete. Another process finds so many entries in the log.
func killedWriter(do services.CacheTask, entries int) func(context.Context, *services.Cache) {
	return func(ctx context.Context, x *services.Cache) {
		r := x.Aside(x.Connect(), cache.Config{})
		x.Fill(ctx, "reader", r, services.Item)
		x.KillProcess(ctx, "W", do, "DEL")
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
		client, proxy := clients.OverWire(x.Trial, x.Node.Addr)
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
