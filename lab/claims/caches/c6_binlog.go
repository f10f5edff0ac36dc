package caches

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/claims/services"
	"locklab/lab/servers"
	"locklab/systems/cache"
	"locklab/systems/cache/changes"
)

var C6 = Experiments.Add(lab.Experiment{
	ID:       "C6-binlog",
	Articles: lab.Articles{"A3"},
	Claim: `
		The database's binlog, through a queue with acknowledgements, deletes what has changed without the writer's help, over a kill too.`,
	Level:    lab.Medium,
	Schedule: lab.Schedule{Takes: 8 * time.Second},
	Check:    services.StaleReads,
	Variants: slices.Concat(
		[]lab.Variant{
			{Name: "the writer deletes the key", Run: services.OnCache(services.HelpfulWriter("writer"))},
			{Name: "another program writes", Expect: lab.Sometimes, Run: services.OnCache(anotherProgram)},
			{Name: "outbox", Run: byOutbox(feedTask{})},
			{Name: "outbox, the consumer is killed", Fault: true, Run: byOutbox(feedTask{consumer: consume})},
			{
				Name: "outbox, acknowledged first, the consumer is killed", Expect: lab.Sometimes, Fault: true,
				Run: byOutbox(feedTask{consumer: acknowledgeFirst}),
			},
			{Name: "outbox, the relay is killed", Fault: true, Run: byOutbox(feedTask{relay: relayChanges})},
			{
				Name: "outbox, position saved first, the relay is killed", Expect: lab.Sometimes, Fault: true,
				Run: byOutbox(feedTask{relay: savePositionFirst}),
			},
		},
		onBinlog(
			lab.Variant{Name: "binlog", Run: byBinlog(feedTask{})},
			lab.Variant{Name: "binlog, the consumer is killed", Fault: true, Run: byBinlog(feedTask{consumer: consume})},
			lab.Variant{Name: "binlog, the relay is killed", Fault: true, Run: byBinlog(feedTask{relay: relayChanges})},
		),
	),
})

// onBinlog are variants of one trial, because a server takes seconds to start.
func onBinlog(variants ...lab.Variant) []lab.Variant {
	for i := range variants {
		variants[i].Trials, variants[i].Needs = 1, []lab.Need{lab.MariaDB}
	}
	return variants
}

// bySQL updates an item as a program does that knows no cache.
func bySQL(ctx context.Context, x *services.Cache, id uint64) {
	x.Must(x.DB.WithContext(ctx).Exec("UPDATE cache_items SET version = version + 1 WHERE id = ?", id).Error)
	x.Confirm(ctx, "program", id)
}

func anotherProgram(ctx context.Context, x *services.Cache) {
	r := x.Aside(x.Connect(), cache.Config{})
	x.Fill(ctx, "reader", r, services.Item)
	bySQL(ctx, x, services.Item)
	x.MustFollow("program", services.Item)
	x.Read(ctx, "reader", r, services.Item)
}

// changesStream is the stream. A message without an acknowledgement goes to another consumer soon.
func changesStream(client redis.Cmdable) changes.Stream {
	return changes.Stream{Client: client, Key: "changes", Idle: 50 * time.Millisecond}
}

// The parts as processes that are killed.
var (
	consume = services.NewCacheTask("consume changes", func(ctx context.Context, c *services.CacheClient) error {
		return changesStream(c.Client).Consume(ctx, "A", c.Redis)
	})
	acknowledgeFirst = services.NewCacheTask("consume changes, acknowledged before the delete",
		func(ctx context.Context, c *services.CacheClient) error {
			s := changesStream(c.Client)
			return s.Consume(ctx, "A", acknowledging{s, c.Redis})
		})
	relayChanges = services.NewCacheTask("relay changes", func(ctx context.Context, c *services.CacheClient) error {
		return changesStream(c.Client).Relay(ctx, sourceOf(c))
	})
	// savePositionFirst is [changes.Stream.Relay] with two steps exchanged.
	savePositionFirst = services.NewCacheTask("relay changes, the position saved first",
		func(ctx context.Context, c *services.CacheClient) error {
			s := changesStream(c.Client)
			after := s.Client.Get(ctx, s.Key+":position").Val() // "": from the beginning
			return sourceOf(c).Follow(ctx, after, func(c changes.Change) error {
				return errors.Join(
					s.Client.Set(ctx, s.Key+":position", c.After, 0).Err(),
					s.Client.XAdd(ctx, &redis.XAddArgs{Stream: s.Key, Values: []any{"id", c.ID}}).Err(),
				)
			})
		})
)

// sourceOf is the source of the changes in a process of its own. A server of MariaDB ends a reader when another one comes with its number.
func sourceOf(c *services.CacheClient) changes.Source {
	if dsn, maria := strings.CutPrefix(c.Database, "mysql:"); maria {
		return changes.Binlog{DSN: dsn, Table: cache.Table, Server: 3}
	}
	return changes.Outbox{DB: c.DB, Table: cache.Table, Every: 5 * time.Millisecond}
}

// acknowledging exchanges two steps of [changes.Stream.Consume].
type acknowledging struct {
	changes.Stream
	to cache.Deleter
}

func (a acknowledging) Delete(ctx context.Context, id uint64) error {
	pending, err := a.Client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: a.Key, Group: a.Key, Start: "-", End: "+", Count: 1}).Result()
	for _, p := range pending {
		err = errors.Join(err, a.Client.XAck(ctx, a.Key, a.Key, p.ID).Err())
	}
	return errors.Join(err, a.to.Delete(ctx, id))
}

// feedTask says which part is a process of its own that is killed.
type feedTask struct {
	relay, consumer services.CacheTask // empty: it is not killed
}

// feedStops is where a part is killed: between its two steps.
var feedStops = map[services.CacheTask]string{
	consume: "DEL", acknowledgeFirst: "DEL", relayChanges: "SET changes:position", savePositionFirst: "XADD",
}

// laterItem is an item that is updated later than the first.
const laterItem = services.Item + 1

func byOutbox(task feedTask) lab.Scenario {
	return services.OnCache(func(ctx context.Context, x *services.Cache) {
		r := filled(ctx, x)
		from := changes.Outbox{DB: x.DB, Table: cache.Table, Every: 5 * time.Millisecond}
		x.Must(from.Install(ctx))
		task.run(ctx, x, r, from)
	})
}

func byBinlog(task feedTask) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		server, err := t.Stack.MariaDB(ctx, "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
		t.Must(err)
		x := services.StartCache(ctx, t, "mysql:"+server.DSN)
		r := filled(ctx, x)
		from := changes.Binlog{DSN: server.DSN, Table: cache.Table, Server: 2}
		var now struct {
			File     string
			Position int64
		}
		t.Must(x.DB.WithContext(ctx).Raw("SHOW MASTER STATUS").Scan(&now).Error)
		t.Must(x.Conn.Set(ctx, "changes:position", fmt.Sprintf("%s:%d", now.File, now.Position), 0).Err())
		task.run(ctx, x, r, from)
		x.MeasureCache()
	}
}

// filled has two items, and the first of them in the cache.
func filled(ctx context.Context, x *services.Cache) *cache.Redis {
	r := x.Aside(x.Connect(), cache.Config{})
	x.Must(x.Write(ctx, "before", x.Items, laterItem))
	x.Fill(ctx, "reader", r, services.Item)
	return r
}

// run lets another program update the item, kills what the task says, and reads when all changes have come through.
func (f feedTask) run(ctx context.Context, x *services.Cache, r *cache.Redis, from changes.Source) {
	stream := changesStream(x.Connect())
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
	bySQL(ctx, x, services.Item)
	for _, do := range []services.CacheTask{f.relay, f.consumer} {
		if do != "" {
			x.KillProcess(ctx, "A", do, feedStops[do])
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
	x.Must(servers.Until(ctx, func(ctx context.Context) error {
		pending, err := stream.Client.XPending(ctx, stream.Key, stream.Key).Result()
		if err == nil && pending.Count > 0 {
			err = fmt.Errorf("%d changes are not acknowledged", pending.Count)
		}
		return err
	}))
	x.MustFollow("feed", services.Item)
	x.Read(ctx, "reader", r, services.Item)
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
