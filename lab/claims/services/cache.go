package services

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/systems/cache"
)

// Item is the item that readers ask for where one is enough.
const Item = 7

// CacheTTL is long: no key of a cache expires by itself while a trial runs.
const CacheTTL = time.Hour

// Cache is a Redis before a database.
type Cache struct {
	*clients.Redis
	Database string // as database.Open takes it
	DB       *gorm.DB
	Items    *cache.Database
	Filling  bool // loads are not recorded; set it while nobody reads

	mu    sync.Mutex
	reads int
	hold  chan struct{} // loads wait until it is closed; nil: they do not wait
}

// StartCache starts a Redis before a database.
func StartCache(ctx context.Context, t *lab.Trial, url string) *Cache {
	x := &Cache{Redis: clients.StartRedis(ctx, t), Database: url}
	db, err := database.Open(ctx, url)
	t.Must(err)
	t.Cleanup(db.Close)
	x.DB = db.DB
	x.Items, err = cache.NewDatabase(ctx, x.DB, 0)
	t.Must(err)
	return x
}

// OnCache runs a scenario on a Redis before a database, and measures it.
func OnCache(scenario func(ctx context.Context, x *Cache)) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		x := StartCache(ctx, t, SQLite(t, "items.db"))
		scenario(ctx, x)
		x.MeasureCache()
	}
}

// MeasureCache measures what reached the database, what was stale, and when answers were true again. There is no time if they are not true
// in the end.
func (x *Cache) MeasureCache() {
	trial, loads, most := x.Events(), 0, 0
	for _, moment := range moments(trial) {
		loads, most = loads+len(moment), max(most, len(moment))
	}
	x.Measure("all clients", int64(loads), lab.Count.Of("loads that reached the database"))
	x.Measure("all clients", int64(most), lab.Count.Of("loads at one moment, at most"))
	x.Measure("all clients", int64(len(oldReads(trial, true))), lab.Count.Of("stale reads"))
	if took, every := truthAfter(trial); every {
		x.Measure("all clients", took.Microseconds(), lab.Microseconds.Of("until answers are true"))
	}
}

// truthAfter is how long it took after an item's last confirmed write until its answers were true; of several items the longest. A true
// answer before an old one does not count. Without a request before that write, the time begins with the first request. It also reports
// whether every item that was asked for is true in the end.
func truthAfter(trial []history.Event) (longest time.Duration, every bool) {
	const notYet = -1
	newest, since, took := make(map[string]int64), make(map[string]time.Duration), make(map[string]time.Duration)
	for _, e := range trial {
		_, asked := took[e.Key]
		switch {
		case e.Kind == history.Write && !asked:
			newest[e.Key] = max(newest[e.Key], e.Value)
		case e.Kind == history.Write, e.Kind == history.Request && !asked:
			newest[e.Key], since[e.Key], took[e.Key] = max(newest[e.Key], e.Value), e.At, notYet
		case e.Kind == history.Read && e.Value < newest[e.Key]:
			took[e.Key] = notYet
		case e.Kind == history.Read && took[e.Key] == notYet:
			took[e.Key] = e.At - since[e.Key]
		}
	}
	for _, t := range took {
		if longest = max(longest, t); t == notYet {
			return 0, false
		}
	}
	return longest, len(took) > 0
}

// Connect returns connections of one more process, which sends every command once.
func (x *Cache) Connect() redis.UniversalClient { return clients.Dial(x.Trial, x.Node.Addr) }

// Aside returns the cache of one process. Its loads are recorded.
func (x *Cache) Aside(client redis.Cmdable, cfg cache.Config) *cache.Redis {
	if cfg.TTL == 0 {
		cfg.TTL = CacheTTL
	}
	cfg.Prefix = "item:"
	r, err := cache.NewRedis(client, x.Source(), cfg)
	x.Must(err)
	return r
}

// Source is the database. Each load that reaches it is recorded.
func (x *Cache) Source() cache.Reader { return source{x} }

type source struct{ *Cache }

// Get implements [cache.Reader].
func (s source) Get(ctx context.Context, id uint64) (cache.Item, error) {
	if !s.Filling {
		s.Record(history.Event{Timeline: "database", Kind: history.Command, Key: ItemKey(id), Name: history.Load, Text: "SELECT"})
	}
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return cache.Item{}, ctx.Err()
		}
	}
	return s.Items.Get(ctx, id)
}

// ItemKey is the key of an item in the events of its reads and writes.
func ItemKey(id uint64) string { return fmt.Sprint("item ", id) }

// HoldLoads lets loads wait until the returned function is called.
func (x *Cache) HoldLoads() (release func()) {
	hold := make(chan struct{})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hold = hold
	return sync.OnceFunc(func() { close(hold) })
}

// Read lets a client read, and records the version of the answer; 0: there is no such item. A read without an answer is refused.
func (x *Cache) Read(ctx context.Context, name string, from cache.Reader, id uint64) {
	x.mu.Lock()
	x.reads++
	e := history.Event{Timeline: name, Kind: history.Request, Key: ItemKey(id), Owner: fmt.Sprint(name, "-", x.reads)}
	x.mu.Unlock()
	x.Record(e)
	item, err := from.Get(ctx, id)
	switch e.Kind = history.Read; {
	case err == nil:
		e.Value = item.Version
	case errors.Is(err, cache.ErrNotFound):
		e.Text = "there is no such item"
	default:
		e.Kind, e.Text = history.Refuse, err.Error()
	}
	x.Record(e)
}

// Write lets a client write, and records the version when the database has confirmed it. An error after that is returned.
func (x *Cache) Write(ctx context.Context, name string, to cache.Writer, id uint64) error {
	item, err := to.Put(ctx, id, "by "+name)
	if item.Version == 0 {
		x.Must(fmt.Errorf("%s: the database did not confirm the update: %w", name, err))
	}
	x.Record(history.Event{Timeline: name, Kind: history.Write, Key: ItemKey(id), Value: item.Version})
	return err
}

// Confirm records the version that the database has, after a write that was not made through [Cache.Write].
func (x *Cache) Confirm(ctx context.Context, name string, id uint64) {
	item, err := x.Items.Get(ctx, id)
	x.Must(err)
	x.Record(history.Event{Timeline: name, Kind: history.Write, Key: ItemKey(id), Value: item.Version})
}

// mustFollow marks the note after which a reader must see a version.
var mustFollow = history.Mark{Name: "the cache must not be older from here"}

// MustFollow records that every read that begins now must see what was written.
func (x *Cache) MustFollow(name string, id uint64) {
	x.Record(mustFollow.On(history.Event{Timeline: name, Kind: history.Note, Key: ItemKey(id)}))
}

// Update lets a client write, which must succeed. After it the cache must not be older.
func (x *Cache) Update(ctx context.Context, name string, to cache.Writer, id uint64) {
	x.Must(x.Write(ctx, name, to, id))
	x.MustFollow(name, id)
}

// Fill writes an item that no cache knows, as another program does, and lets a reader read it.
func (x *Cache) Fill(ctx context.Context, name string, from cache.Reader, id uint64) {
	x.Must(x.Write(ctx, name, x.Items, id))
	x.Read(ctx, name, from, id)
}

// HelpfulWriter is a control: nothing fails, and the writer deletes the key of what it has written.
func HelpfulWriter(writer string) func(context.Context, *Cache) {
	return func(ctx context.Context, x *Cache) {
		r := x.Aside(x.Connect(), cache.Config{})
		x.Fill(ctx, "reader", r, Item)
		x.Update(ctx, writer, cache.UpdateThenDelete{Database: x.Items, Cache: r}, Item)
		x.Read(ctx, "reader", r, Item)
	}
}

// Moment ends a moment for [LoadsOver].
func (x *Cache) Moment() { x.EndMoment("a moment") }

// moments are the loads that reached the database, by the moment. Time that passes ends a moment.
func moments(trial []history.Event) [][]int {
	all := make([][]int, 1)
	for _, e := range trial {
		switch last := len(all) - 1; e.Name {
		case history.Load:
			all[last] = append(all[last], e.Seq)
		case history.TimePasses:
			all = append(all, nil)
		}
	}
	return all
}

// LoadsOver is a check that finds more than so many loads that reached the database in one moment.
func LoadsOver(bound int) func([]history.Event) []history.Violation {
	return func(trial []history.Event) (found []history.Violation) {
		for _, loads := range moments(trial) {
			if len(loads) > bound {
				what := fmt.Sprintf("%d loads reached the database at one moment; it bears %d", len(loads), bound)
				found = append(found, history.Violation{Key: "database", What: what, Events: loads})
			}
		}
		return found
	}
}

// StaleReads is a check that finds reads that began after the cache had to know a version, and answered with an older one.
func StaleReads(trial []history.Event) []history.Violation { return oldReads(trial, false) }

// oldReads finds the same, or reads that began after the database had confirmed a version.
func oldReads(trial []history.Event, confirmed bool) (found []history.Violation) {
	written, due, began := make(map[string]history.Event), make(map[string]history.Event), make(map[string]history.Event)
	for _, e := range trial {
		if e.Kind == history.Write && e.Value > written[e.Key].Value {
			written[e.Key] = e
		}
		switch {
		case e.Kind == history.Note && mustFollow.In(e), confirmed && e.Kind == history.Write:
			due[e.Key] = written[e.Key]
		case e.Kind == history.Request:
			began[e.Owner] = due[e.Key] // what this read must see
		case e.Kind == history.Read && e.Value < began[e.Owner].Value:
			newest := began[e.Owner]
			what := fmt.Sprintf("%s got version %d of %s after version %d was confirmed", e.Timeline, e.Value, e.Key, newest.Value)
			found = append(found, history.Violation{Key: e.Key, What: what, Events: []int{newest.Seq, e.Seq}})
		}
	}
	return found
}
