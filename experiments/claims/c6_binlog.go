package claims

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"locklab/cache"
	"locklab/cache/changes"
	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/stack"
)

var _ = register(experiments.Experiment{
	ID:      "C6-binlog",
	Title:   "The database says what has changed",
	Article: "A3",
	Claim: `
		The database's binlog, through a queue with acknowledgements, deletes what has changed without the writer's help, over a kill too.`,
	Says: `
		As an upgrade, a tool (canal) reads the database's binlog and sends it to a queue. A consumer deletes the keys and acknowledges.
		The article does not say when the position in the binlog is saved.`,
	Lesson: experiments.Lesson{
		Question: `
			Another program updates the database, and knows no cache. A reader of the binlog puts each change into a queue. A consumer takes it,
			deletes the key and acknowledges. One of the two is killed in the middle. Is a change lost?`,
		Predict: `
			(a) Yes, the one that was being handled. (b) No: the queue and the binlog have it still. (c) It depends on the order of two
			steps in each of the two programs.`,
		Why: `
			(c). A consumer that acknowledges before it deletes loses the change when it dies between the two. A relay that saves its position
			before the queue has the change loses it in the same way. In the other order a change may come twice, and a second delete
			does no harm. This is "at least once", and it suits a cache.`,
		Fix: `
			Acknowledge after the delete, and save the position after the queue has confirmed. Take what another consumer has left
			(XAUTOCLAIM). Keep the position where the queue is: a Redis that loses one loses both, and then the binlog is read again.`,
		Limits: `
			SQLite has no binlog. There triggers write an outbox table in the transaction of each write. Somebody must install them, a table
			without them is not seen, and each write costs a second one. With several writers, rows of an outbox can be committed in another
			order than they are numbered; a binlog has the order of the commits. The cache is old until the change has come through.`,
		Next:  "C5-delete-log does the same for writers that know the cache. C4-delayed-double-delete: a slow reader can still fill too late.",
		Level: experiments.Medium,
	},
	Drawing: `
another program ─ UPDATE
database                 ─ binlog ─┐
relay                              └─ XADD ─ save the position
consumer                                  └─ DEL ─ XACK`,
	How: `
		The cache has an item. Another program updates it with plain SQL. A relay puts changes into a Redis stream, and a consumer deletes
		keys. Where one of the two is a process of its own, it is killed between two of its steps, and another one goes on. A second item,
		updated later, shows when all changes before it have come through. Then a client reads. The binlog is that of MariaDB, read by
		mariadb-binlog as a replica reads it; the outbox is in SQLite.`,
	Takes: 8 * time.Second,
	Check: kit.StaleReads,
	Variants: slices.Concat(
		[]experiments.Variant{
			{Name: "the writer deletes the key", Run: kit.OnCache(helpfulWriter)},
			{Name: "another program writes", Expect: experiments.Sometimes, Run: kit.OnCache(anotherProgram)},
			{Name: "outbox", Run: byOutbox(feedTask{})},
			{Name: "outbox, the consumer is killed", Fault: true, Run: byOutbox(feedTask{consumer: kit.Consume})},
			{
				Name: "outbox, acknowledged first, the consumer is killed", Expect: experiments.Sometimes, Fault: true,
				Run: byOutbox(feedTask{consumer: kit.AcknowledgeFirst}),
			},
			{Name: "outbox, the relay is killed", Fault: true, Run: byOutbox(feedTask{relay: kit.Relay})},
			{
				Name: "outbox, position saved first, the relay is killed", Expect: experiments.Sometimes, Fault: true,
				Run: byOutbox(feedTask{relay: kit.SavePositionFirst}),
			},
		},
		onBinlog(
			experiments.Variant{Name: "binlog", Run: byBinlog(feedTask{})},
			experiments.Variant{Name: "binlog, the consumer is killed", Fault: true, Run: byBinlog(feedTask{consumer: kit.Consume})},
			experiments.Variant{Name: "binlog, the relay is killed", Fault: true, Run: byBinlog(feedTask{relay: kit.Relay})},
		),
	),
})

// onBinlog are variants of one trial, because a server takes seconds to start.
func onBinlog(variants ...experiments.Variant) []experiments.Variant {
	for i := range variants {
		variants[i].Trials, variants[i].Needs = 1, []experiments.Need{experiments.MariaDB, experiments.Binlog}
	}
	return variants
}

func helpfulWriter(ctx context.Context, x *kit.Cache) {
	r := x.Aside(x.Connect(), cache.Config{})
	x.Fill(ctx, "reader", r, kit.Item)
	x.Update(ctx, "writer", cache.UpdateThenDelete{Database: x.Items, Cache: r}, kit.Item)
	x.Read(ctx, "reader", r, kit.Item)
}

// bySQL updates an item as a program does that knows no cache.
func bySQL(ctx context.Context, x *kit.Cache, id uint64) {
	x.Must(x.DB.WithContext(ctx).Exec("UPDATE cache_items SET version = version + 1 WHERE id = ?", id).Error)
	x.Confirm(ctx, "program", id)
}

func anotherProgram(ctx context.Context, x *kit.Cache) {
	r := x.Aside(x.Connect(), cache.Config{})
	x.Fill(ctx, "reader", r, kit.Item)
	bySQL(ctx, x, kit.Item)
	x.MustFollow("program", kit.Item)
	x.Read(ctx, "reader", r, kit.Item)
}

// feedTask says which part is a process of its own that is killed.
type feedTask struct {
	relay, consumer kit.CacheDo // empty: it is not killed
}

// feedStops is where a part is killed: between its two steps.
var feedStops = map[kit.CacheDo]string{
	kit.Consume: "DEL", kit.AcknowledgeFirst: "DEL", kit.Relay: "SET changes:position", kit.SavePositionFirst: "XADD",
}

// laterItem is an item that is updated later than the first.
const laterItem = kit.Item + 1

func byOutbox(task feedTask) experiments.Scenario {
	return kit.OnCache(func(ctx context.Context, x *kit.Cache) {
		r := filled(ctx, x)
		from := changes.Outbox{DB: x.DB, Table: cache.Table, Every: 5 * time.Millisecond}
		x.Must(from.Install(ctx))
		task.run(ctx, x, r, from, nil)
	})
}

func byBinlog(task feedTask) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		server, err := t.Stack.MariaDB(ctx, "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
		t.Must(err)
		x := kit.StartCacheOn(ctx, t, "mysql:"+server.DSN)
		r := filled(ctx, x)
		host, port, err := net.SplitHostPort(server.Addr)
		t.Must(err)
		from := changes.Binlog{Host: host, Port: port, User: "root", Database: stack.DatabaseName, Table: cache.Table, Server: 2}
		var now struct {
			File     string
			Position int64
		}
		t.Must(x.DB.WithContext(ctx).Raw("SHOW MASTER STATUS").Scan(&now).Error)
		t.Must(x.Conn.Set(ctx, "changes:position", fmt.Sprintf("%s:%d", now.File, now.Position), 0).Err())
		killed := from
		killed.Server = 3 // the server ends a reader when another one comes with its number
		task.run(ctx, x, r, from, &killed)
		x.MeasureCache()
	}
}

// filled has two items, and the first of them in the cache.
func filled(ctx context.Context, x *kit.Cache) *cache.Redis {
	r := x.Aside(x.Connect(), cache.Config{})
	x.Must(x.Write(ctx, "before", x.Items, laterItem))
	x.Fill(ctx, "reader", r, kit.Item)
	return r
}

// run lets another program update the item, kills what the task says, and reads when all changes have come through.
func (f feedTask) run(ctx context.Context, x *kit.Cache, r *cache.Redis, from changes.Source, killed *changes.Binlog) {
	stream := kit.ChangesStream(x.Connect())
	feed, end := context.WithCancel(ctx)
	defer end()
	part := func(run func() error) {
		x.Go(func() {
			if err := run(); feed.Err() == nil {
				x.Must(fmt.Errorf("a part of the feed ended: %w", err))
			}
		})
	}
	relay := func() { part(func() error { return stream.Relay(feed, from) }) }
	if f.consumer != "" {
		relay()
	}
	bySQL(ctx, x, kit.Item)
	for _, do := range []kit.CacheDo{f.relay, f.consumer} {
		if do != "" {
			x.KillCacheProcess(ctx, "A", kit.CacheTask{Do: do, Stop: feedStops[do], Binlog: killed})
		}
	}
	if f.consumer == "" {
		relay()
	}
	through := make(chan struct{}, 10)
	part(func() error { return stream.Consume(feed, "B", toldItem{r, through}) })
	bySQL(ctx, x, laterItem)
	select {
	case <-through:
	case <-ctx.Done():
		x.Must(errors.New("the update of the second item has not come through"))
	}
	x.Must(stack.Until(ctx, func(ctx context.Context) error {
		pending, err := stream.Client.XPending(ctx, stream.Key, stream.Key).Result()
		if err == nil && pending.Count > 0 {
			err = fmt.Errorf("%d changes are not acknowledged", pending.Count)
		}
		return err
	}))
	x.MustFollow("feed", kit.Item)
	x.Read(ctx, "reader", r, kit.Item)
}

// toldItem says when the second item is deleted.
type toldItem struct {
	cache.Deleter
	through chan struct{}
}

func (d toldItem) Delete(ctx context.Context, id uint64) error {
	err := d.Deleter.Delete(ctx, id)
	if id == laterItem {
		d.through <- struct{}{}
	}
	return err
}
