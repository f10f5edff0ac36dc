package cache_test

import (
	"context"
	"errors"
	"io"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/systems/cache"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const id = 7

// lab is a Redis and a database.
type lab struct {
	t  *testing.T
	db *cache.Database
	*redis.Client
	node *servers.Node
	raw  *gorm.DB // of db
}

func newLab(t *testing.T) lab {
	t.Helper()
	node := testenv.Redis(t, false)
	db, raw := newDatabase(t, "sqlite:"+filepath.Join(t.TempDir(), "items.db"))
	return lab{t, db, client(t, node.Addr), node, raw}
}

func client(t *testing.T, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func newDatabase(t *testing.T, url string) (*cache.Database, *gorm.DB) {
	t.Helper()
	opened, err := database.Open(testenv.Context(t), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	db, err := cache.NewDatabase(t.Context(), opened.DB, 0)
	if err != nil {
		t.Fatal(err)
	}
	return db, opened.DB
}

// aside is a cache over the lab's database, or over another source.
func (l lab) aside(cfg cache.Config, source ...cache.Reader) *cache.Redis {
	l.t.Helper()
	if cfg.TTL == 0 {
		cfg.TTL = time.Minute
	}
	r, err := cache.NewRedis(l, append(source, l.db)[0], cfg)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// put writes an item, and fails when that fails.
func put(t *testing.T, w cache.Writer, text string) cache.Item {
	t.Helper()
	item, err := w.Put(t.Context(), id, text)
	if err != nil {
		t.Fatal(err)
	}
	return item
}

// reads fails unless the reader answers with this version; 0: that there is no such item.
func reads(t *testing.T, r cache.Reader, version int64) {
	t.Helper()
	item, err := r.Get(t.Context(), id)
	if version == 0 && !errors.Is(err, cache.ErrNotFound) || version > 0 && (err != nil || item.Version != version) {
		t.Errorf("got %+v, %v; want version %d", item, err, version)
	}
}

// loads fails unless so many loads have reached the database.
func (l lab) loads(want int64) {
	l.t.Helper()
	if got := l.db.Loads(); got != want {
		l.t.Errorf("%d loads have reached the database, want %d", got, want)
	}
}

func TestAside(t *testing.T) {
	l := newLab(t)
	r := l.aside(cache.Config{})
	if _, err := r.Cached(t.Context(), id); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("an empty cache: %v", err)
	}
	put(t, l.db, "one")
	reads(t, r, 1)
	reads(t, r, 1)
	l.loads(1)
	put(t, l.db, "two") // which tells no cache
	reads(t, r, 1)
	put(t, cache.UpdateThenDelete{Database: l.db, Cache: r}, "three")
	reads(t, r, 3)
	put(t, cache.UpdateThenSet{Database: l.db, Cache: r}, "four")
	put(t, cache.DeleteThenUpdate{Database: l.db, Cache: r}, "five")
	reads(t, r, 5)
	l.loads(3)
	if err := l.Set(t.Context(), "7", "junk", 0).Err(); err != nil { // by another program
		t.Fatal(err)
	}
	if _, err := r.Get(t.Context(), id); !errors.Is(err, cache.ErrUnavailable) || !strings.Contains(err.Error(), "the key 7 has no item") {
		t.Errorf("a key without an item: %v", err)
	}
}

// An item lives for the TTL, and longer by less than the spread. Many items have different TTLs.
func TestTTL(t *testing.T) {
	l := newLab(t)
	const ttl, spread = time.Minute, time.Hour
	r := l.aside(cache.Config{Prefix: "x:", TTL: ttl, Spread: spread})
	lives := make(map[time.Duration]bool)
	for id := range uint64(20) {
		if err := r.Set(t.Context(), cache.Item{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := l.Keys(t.Context(), "x:*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		left := l.PTTL(t.Context(), key).Val()
		if left < ttl-time.Second || left > ttl+spread {
			t.Errorf("%s lives for %s", key, left)
		}
		lives[left.Round(time.Minute)] = true
	}
	if len(keys) != 20 || len(lives) < 5 {
		t.Errorf("%d keys have %d TTLs", len(keys), len(lives))
	}
}

// Only the cache's own keys are deleted.
func TestDeleteAll(t *testing.T) {
	l := newLab(t)
	mine, other := l.aside(cache.Config{Prefix: "mine:"}), l.aside(cache.Config{Prefix: "other:"})
	for id := range uint64(3) {
		if err := errors.Join(mine.Set(t.Context(), cache.Item{ID: id}), other.Set(t.Context(), cache.Item{ID: id})); err != nil {
			t.Fatal(err)
		}
	}
	if err := mine.DeleteAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]int{"mine:*": 0, "other:*": 3} {
		if keys, err := l.Keys(t.Context(), prefix).Result(); err != nil || len(keys) != want {
			t.Errorf("%s: %v, %v; want %d", prefix, keys, err, want)
		}
	}
}

// The keys of a cluster are on several masters. These two do not know each other: the client has the map of their slots.
func TestDeleteAllInACluster(t *testing.T) {
	addrs := []string{testenv.Redis(t, false).Addr, testenv.Redis(t, false).Addr}
	masters := func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{
			{Start: 0, End: 8191, Nodes: []redis.ClusterNode{{Addr: addrs[0]}}},
			{Start: 8192, End: 16383, Nodes: []redis.ClusterNode{{Addr: addrs[1]}}},
		}, nil
	}
	cluster := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: masters, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = cluster.Close() })
	db, _ := newDatabase(t, "sqlite:"+filepath.Join(t.TempDir(), "items.db"))
	r, err := cache.NewRedis(cluster, db, cache.Config{Prefix: "item:", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for id := range uint64(20) {
		if err := r.Set(t.Context(), cache.Item{ID: id, Text: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	there := func() (n [2]int64) {
		for i, addr := range addrs {
			n[i] = client(t, addr).DBSize(t.Context()).Val()
		}
		return n
	}
	before := there()
	if err := r.DeleteAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := there(); before[0] == 0 || before[1] == 0 || left != [2]int64{} {
		t.Errorf("of %d keys %d are left", before, left)
	}
}

// A delete that fails is an error: the item is still there.
func TestDeleteAllThatFails(t *testing.T) {
	l := newLab(t)
	refuses := client(t, l.node.Addr)
	refuses.AddHook(noDelete{})
	r, err := cache.NewRedis(refuses, l.db, cache.Config{Prefix: "item:", TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Set(t.Context(), cache.Item{ID: id}); err != nil {
		t.Fatal(err)
	}
	if err := r.DeleteAll(t.Context()); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// noDelete is a connection that ends in each DEL.
type noDelete struct{}

func (noDelete) DialHook(next redis.DialHook) redis.DialHook { return next }

func (noDelete) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (noDelete) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "del" {
			cmd.SetErr(io.EOF)
			return io.EOF
		}
		return next(ctx, cmd)
	}
}

// A caller that leaves does not wait for a slow query.
func TestACallerThatLeavesDuringAQuery(t *testing.T) {
	_, raw := newDatabase(t, "sqlite:"+filepath.Join(t.TempDir(), "items.db"))
	slow, err := cache.NewDatabase(t.Context(), raw, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		leaves, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := slow.Get(leaves, id)
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, cache.ErrUnavailable) || time.Since(began) != time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestEmptyAnswers(t *testing.T) {
	l := newLab(t)
	keeps, passes := l.aside(cache.Config{Prefix: "keeps:", Empty: time.Second}), l.aside(cache.Config{Prefix: "passes:"})
	for range 3 {
		reads(t, keeps, 0)
	}
	l.loads(1)
	if left := l.PTTL(t.Context(), "keeps:7").Val(); left <= 0 || left > time.Second {
		t.Errorf("the empty answer lives for %s", left)
	}
	for range 3 {
		reads(t, passes, 0)
	}
	l.loads(4)
	put(t, cache.UpdateThenDelete{Database: l.db, Cache: keeps}, "inserted") // which clears the empty answer
	reads(t, keeps, 1)
}

// Arguments that cannot work are refused with a sentence.
func TestInvalid(t *testing.T) {
	l := newLab(t)
	redisOf := func(cfg cache.Config) error { _, err := cache.NewRedis(l, l.db, cfg); return err }
	_, local := cache.NewLocal(l.db, 0, time.Minute)
	_, ttl := cache.NewLocal(l.db, 1, 0)
	_, refreshing := cache.NewRefreshing(l, l.db, "", 0)
	_, query := cache.NewDatabase(t.Context(), nil, -1)
	_, long := l.db.Put(t.Context(), id, strings.Repeat("x", 1001))
	_, none := l.db.Put(t.Context(), 0, "x")
	if err := redisOf(cache.Config{TTL: time.Millisecond, Spread: math.MaxInt64 - time.Millisecond}); err != nil {
		t.Errorf("the shortest TTL, and the longest spread: %v", err)
	}
	for name, err := range map[string]error{
		"TTL 0": redisOf(cache.Config{}), "TTL below a millisecond": redisOf(cache.Config{TTL: time.Microsecond}),
		"negative TTL": redisOf(cache.Config{TTL: -1}), "negative spread": redisOf(cache.Config{TTL: time.Minute, Spread: -1}),
		"too long with its spread": redisOf(cache.Config{TTL: math.MaxInt64, Spread: time.Second}),
		"negative empty":           redisOf(cache.Config{TTL: time.Minute, Empty: -1}), "no items": local, "no TTL": ttl, "no age": refreshing,
		"negative query": query, "long text": long, "no id": none,
	} {
		if !errors.Is(err, cache.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A read does not fall back to the database when Redis is away. No write hides it.
func TestRedisAway(t *testing.T) {
	l := newLab(t)
	r := l.aside(cache.Config{})
	refreshing, err := cache.NewRefreshing(l, l.db, "x:", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	l.node.Kill()
	_, got := r.Get(t.Context(), id)
	_, flight := cache.NewSingleFlight(r).Get(t.Context(), id)
	_, locked := cache.Locked{Cache: r, Lock: testenv.Mutex()}.Get(t.Context(), id)
	_, refreshed := refreshing.Get(t.Context(), id)
	bloom := cache.NewBloom(l, "bloom", 1, r, l.db)
	_, filtered := bloom.Get(t.Context(), id)
	_, added := bloom.Put(t.Context(), id, "x")
	_, filled := cache.UpdateThenSet{Database: l.db, Cache: r}.Put(t.Context(), id, "x")
	_, first := cache.SetThenUpdate{Database: l.db, Cache: r}.Put(t.Context(), id, "x")
	for call, err := range map[string]error{
		"get": got, "single flight": flight, "locked": locked, "refreshing": refreshed, "filter": filtered, "put into the filter": added,
		"update, then set": filled, "set, then update": first, "delete": r.Delete(t.Context(), id), "delete all": r.DeleteAll(t.Context()),
	} {
		if !errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("%s: got %v", call, err)
		}
	}
	l.loads(0)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Get(gone, id); errors.Is(err, cache.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("the caller has left: %v", err)
	}
}

func TestBloom(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "there")
	b := cache.NewBloom(l, "bloom", 100, l.db, l.db)
	absent := func() (through int64) {
		before := l.db.Loads()
		for id := range uint64(300) {
			if _, err := b.Get(t.Context(), 1000+id); !errors.Is(err, cache.ErrNotFound) {
				t.Fatal(err)
			}
		}
		return l.db.Loads() - before
	}
	if n := absent(); n != 300 {
		t.Errorf("before it is built, %d of 300 get through", n)
	}
	if err := b.Build(t.Context(), l.db); err != nil {
		t.Fatal(err)
	}
	if n := absent(); n > 15 {
		t.Errorf("%d of 300 absent items get through", n)
	}
	reads(t, b, 1)
	if _, err := b.Put(t.Context(), 55, "new"); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.NewBloom(l, "bloom", 100, l.db, l.db).Get(t.Context(), 55); err != nil {
		t.Errorf("another process does not find what was inserted: %v", err)
	}
	l.FlushAll(t.Context())
	reads(t, b, 1) // a filter that is lost denies nothing
	refuses := client(t, l.node.Addr)
	refuses.AddHook(noPipeline{})
	half := cache.NewBloom(refuses, "bloom", 100, l.db, l.db)
	if err := half.Build(t.Context(), l.db); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("a filter without its items is built: %v", err)
	}
	pool, err := l.raw.DB()
	if err = errors.Join(err, pool.Close()); err != nil {
		t.Fatal(err)
	}
	if err := b.Build(t.Context(), l.db); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("a filter of a database that is away is built: %v", err)
	}
}

// noPipeline is a connection that ends in each pipeline.
type noPipeline struct{}

func (noPipeline) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (noPipeline) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (noPipeline) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { return io.EOF }
}

func TestLocal(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	second, err := cache.NewLocal(l.db, 10, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	reads(t, second, 1)
	put(t, l.db, "two")
	reads(t, second, 1)
	l.loads(1)
	put(t, cache.UpdateThenDelete{Database: l.db, Cache: second}, "three")
	reads(t, second, 3)
	brief, err := cache.NewLocal(l.db, 1, time.Millisecond) // the smallest of both
	if err != nil {
		t.Fatal(err)
	}
	reads(t, brief, 3)
	before := l.db.Loads()
	testenv.Eventually(t, "the item expires", func() bool { _, err := brief.Get(t.Context(), id); return err == nil && l.db.Loads() > before })
}

// A caller knows how many loads were made for it.
func TestCountLoads(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	r := l.aside(cache.Config{})
	for _, want := range []int64{1, 0} {
		ctx, n := cache.CountLoads(t.Context())
		if _, err := r.Get(ctx, id); err != nil || n.Load() != want {
			t.Errorf("%d loads, %v; want %d", n.Load(), err, want)
		}
	}
}

// MariaDB behaves as SQLite does, also with latin1 as its default character set.
func TestDatabase(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { testDatabase(t, "sqlite:"+filepath.Join(t.TempDir(), "items.db")) })
	t.Run("mariadb", func(t *testing.T) {
		testenv.Needs(t, testenv.MariaDB)
		server, err := testenv.Stack(t).MariaDB(testenv.Context(t), "--character-set-server=latin1")
		if err != nil {
			t.Fatal(err)
		}
		testDatabase(t, "mysql:"+server.DSN)
	})
}

func testDatabase(t *testing.T, where string) {
	db, raw := newDatabase(t, where)
	t.Run("two writers count versions", func(t *testing.T) { countVersions(t, db) })
	t.Run("each lost table is created again", func(t *testing.T) { eachLostTable(t, db, raw) })
	t.Run("a write that is refused", func(t *testing.T) {
		before := put(t, db, "before")
		writes := func() error { _, err := db.Put(t.Context(), id, "after"); return err }
		testenv.WatchStatements(t, raw).RefuseEach(t, "write", cache.ErrUnavailable, writes, func() {
			if item, err := db.Get(t.Context(), id); err != nil || item != before {
				t.Errorf("after a write that is refused: %+v, %v; want %+v", item, err, before)
			}
		})
	})
	put(t, db, strings.Repeat("x", 1000)) // the longest text
	pool, err := raw.DB()
	if err = errors.Join(err, pool.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Get(t.Context(), id); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("without its database: %v", err)
	}
}

// eachLostTable removes one table after the other. Reads, writes, the log and its worker need both.
func eachLostTable(t *testing.T, db *cache.Database, raw *gorm.DB) {
	s := &steps{Writer: db, Deleter: refusing{}, fail: errors.New("no Redis")}
	log := cache.DeleteLog{Database: db, Cache: s}
	for _, lost := range []string{"cache_items", "cache_deletes"} {
		for name, call := range map[string]func() error{
			"read":  func() error { _, err := db.Get(t.Context(), id); return err },
			"write": func() error { _, err := db.Put(t.Context(), id, "семь"); return err },
			"log":   func() error { _, err := log.Put(t.Context(), id, "七 🔒"); return err },
			"retry": func() error { _, err := log.Retry(t.Context()); return err },
		} {
			put(t, log, "before")
			if err := raw.Exec("DROP TABLE " + lost).Error; err != nil {
				t.Fatal(err)
			}
			if err := call(); errors.Is(err, cache.ErrUnavailable) {
				t.Errorf("%s without %s: %v", name, lost, err)
			}
		}
	}
	if item := put(t, log, "七 🔒"); item.Text != "七 🔒" {
		t.Errorf("the text is %q", item.Text)
	}
}

func countVersions(t *testing.T, db *cache.Database) {
	var versions atomic.Int64
	var writers sync.WaitGroup
	for range 10 {
		writers.Go(func() { versions.Add(put(t, db, "x").Version) })
	}
	writers.Wait()
	if sum := versions.Load(); sum != 55 { // 1 to 10, each once
		t.Errorf("the versions add up to %d", sum)
	}
}
