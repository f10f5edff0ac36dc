package cache_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/cache"
	"locklab/internal/testenv"
	"locklab/order"
	"locklab/stack"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const id = 7

// lab is a Redis and a database.
type lab struct {
	t  *testing.T
	db *cache.Database
	*redis.Client
	node *stack.Node
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

func newDatabase(t *testing.T, database string) (*cache.Database, *gorm.DB) {
	t.Helper()
	store, err := order.OpenStore(testenv.Context(t), order.Config{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	db, err := cache.NewDatabase(t.Context(), store.DB(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return db, store.DB()
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
	_, long := l.db.Put(t.Context(), id, strings.Repeat("x", cache.MaxText+1))
	_, none := l.db.Put(t.Context(), 0, "x")
	for name, err := range map[string]error{
		"TTL 0": redisOf(cache.Config{}), "TTL below a millisecond": redisOf(cache.Config{TTL: time.Microsecond}),
		"negative TTL": redisOf(cache.Config{TTL: -1}), "negative spread": redisOf(cache.Config{TTL: time.Minute, Spread: -1}),
		"negative empty": redisOf(cache.Config{TTL: time.Minute, Empty: -1}), "no items": local, "no TTL": ttl, "no age": refreshing,
		"negative query": query, "long text": long, "no id": none,
	} {
		if !errors.Is(err, cache.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A read does not fall back to the database when Redis is away.
func TestRedisAway(t *testing.T) {
	l := newLab(t)
	r := l.aside(cache.Config{})
	l.node.Kill()
	_, err := r.Get(t.Context(), id)
	_, flight := cache.NewSingleFlight(r).Get(t.Context(), id)
	_, filtered := cache.NewBloom(l, "bloom", 1, r, l.db).Get(t.Context(), id)
	for _, err := range []error{err, flight, filtered, r.Delete(t.Context(), id)} {
		if !errors.Is(err, cache.ErrUnavailable) {
			t.Errorf("got %v", err)
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
}

func TestLocal(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	second, err := cache.NewLocal(l.db, 10, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	reads(t, second, 1)
	put(t, l.db, "two")
	reads(t, second, 1)
	l.loads(1)
	put(t, cache.UpdateThenDelete{Database: l.db, Cache: second}, "three")
	reads(t, second, 3)
	brief, err := cache.NewLocal(l.db, 10, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer brief.Close()
	reads(t, brief, 3)
	before := l.db.Loads()
	testenv.Eventually(t, "the item expires", func() bool { _, err := brief.Get(t.Context(), id); return err == nil && l.db.Loads() > before })
}

// slow is a source whose loads wait until they are let go.
type slow struct {
	cache.Reader
	began chan struct{}
	let   chan struct{}
}

func (l lab) slow() slow { return slow{l.db, make(chan struct{}, 100), make(chan struct{})} }

func (s slow) Get(ctx context.Context, id uint64) (cache.Item, error) {
	s.began <- struct{}{}
	<-s.let
	return s.Reader.Get(ctx, id)
}

// together lets n callers read, and lets the loads go when the first has begun.
func together(t *testing.T, s slow, n int, get func(i int) (cache.Item, error)) {
	t.Helper()
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			if item, err := get(i); err != nil || item.Version != 1 {
				t.Errorf("got %+v, %v", item, err)
			}
		})
	}
	<-s.began
	close(s.let)
	callers.Wait()
}

func TestSingleFlight(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	s := l.slow()
	flight := cache.NewSingleFlight(l.aside(cache.Config{}, s))
	together(t, s, 50, func(int) (cache.Item, error) { return flight.Get(t.Context(), id) })
	l.loads(1)
}

// The load of a caller that leaves goes on for the others.
func TestSingleFlightOutlivesItsCaller(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	s := l.slow()
	r := l.aside(cache.Config{}, s)
	flight := cache.NewSingleFlight(r)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { _, err := flight.Get(ctx, id); left <- err }()
	<-s.began
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that left: %v", err)
	}
	close(s.let)
	testenv.Eventually(t, "the load fills", func() bool { _, err := r.Cached(t.Context(), id); return err == nil })
	l.loads(1)
}

// mutex is a lock of one process.
type mutex struct{ sync.Mutex }

func (m *mutex) Do(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
	m.Lock()
	defer m.Unlock()
	return fn(ctx, 0)
}

func TestLocked(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	s, lock := l.slow(), new(mutex)
	caches := []cache.Reader{
		cache.NewSingleFlight(cache.Locked{Cache: l.aside(cache.Config{}, s), Lock: lock}),
		cache.Locked{Cache: l.aside(cache.Config{}, s), Lock: lock},
	}
	together(t, s, 50, func(i int) (cache.Item, error) { return caches[i%2].Get(t.Context(), id) })
	l.loads(1)
	if _, err := caches[1].Get(t.Context(), 99); !errors.Is(err, cache.ErrNotFound) {
		t.Errorf("an absent item under the lock: %v", err)
	}
}

// refused is a lock that nobody gets.
type refused struct{ error }

func (r refused) Do(context.Context, string, func(context.Context, uint64) error) error {
	return r.error
}

func TestLockRefused(t *testing.T) {
	l, no := newLab(t), errors.New("no lock")
	if _, err := (cache.Locked{Cache: l.aside(cache.Config{}), Lock: refused{no}}).Get(t.Context(), id); !errors.Is(err, no) {
		t.Errorf("got %v", err)
	}
	l.loads(0)
}

// One caller of two processes loads when an item is due. All get the old one meanwhile, and none waits for the load.
func TestRefreshing(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	s := l.slow()
	var caches []*cache.Refreshing
	for range 2 {
		r, err := cache.NewRefreshing(l, s, "x:", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		caches = append(caches, r)
	}
	if err := caches[0].Set(t.Context(), cache.Item{ID: id, Text: "old", Version: 1}); err != nil {
		t.Fatal(err)
	}
	put(t, l.db, "two")
	for i := range 20 {
		reads(t, caches[i%2], 1) // it is due, and its load waits
	}
	<-s.began
	close(s.let)
	for _, r := range caches {
		_ = r.Close()
	}
	l.loads(1)
	reads(t, caches[1], 2)
	if left := l.PTTL(t.Context(), "x:7").Val(); left != -1 {
		t.Errorf("it expires in %s", left)
	}
	l.Del(t.Context(), "x:7", "fresh:x:7") // the first of all has nothing to answer, and waits
	reads(t, caches[0], 2)
}

// steps records what is done, and refuses deletes on demand.
type steps struct {
	cache.Writer
	cache.Deleter
	done []string
	fail error
}

func (s *steps) Put(ctx context.Context, id uint64, text string) (cache.Item, error) {
	s.done = append(s.done, "update")
	return s.Writer.Put(ctx, id, text)
}

func (s *steps) Delete(ctx context.Context, id uint64) error {
	s.done = append(s.done, "delete")
	return errors.Join(s.fail, s.Deleter.Delete(ctx, id))
}

func TestOrderOfSteps(t *testing.T) {
	l := newLab(t)
	s := &steps{Writer: l.db, Deleter: l.aside(cache.Config{})}
	double := &cache.DoubleDelete{UpdateThenDelete: cache.UpdateThenDelete{Database: s, Cache: s}, Delay: time.Millisecond}
	for want, w := range map[string]cache.Writer{
		"update delete": cache.UpdateThenDelete{Database: s, Cache: s}, "delete update": cache.DeleteThenUpdate{Database: s, Cache: s},
		"update delete delete": double,
	} {
		s.done = nil
		put(t, w, want)
		_ = double.Close()
		if got := strings.Join(s.done, " "); got != want {
			t.Errorf("%T: %s, want %s", w, got, want)
		}
	}
	s.fail = errors.New("no reply")
	for _, w := range []cache.Writer{cache.UpdateThenDelete{Database: s, Cache: s}, cache.DeleteThenUpdate{Database: s, Cache: s}} {
		if _, err := w.Put(t.Context(), id, "x"); !errors.Is(err, s.fail) {
			t.Errorf("%T does not say that its delete failed: %v", w, err)
		}
	}
	s.done = nil
	_, err := double.Put(t.Context(), id, "x")
	if _ = double.Close(); err == nil || len(s.done) != 3 {
		t.Errorf("after a first delete that fails: %v, %v", s.done, err)
	}
}

func TestDeleteLog(t *testing.T) {
	l := newLab(t)
	r := l.aside(cache.Config{})
	s := &steps{Deleter: refusing{}, fail: errors.New("no reply")}
	put(t, l.db, "one")
	reads(t, r, 1)
	put(t, cache.DeleteLog{Database: l.db, Cache: s}, "two") // the update is confirmed, and the delete is not done
	reads(t, r, 1)
	if n, err := (cache.DeleteLog{Database: l.db, Cache: s}).Retry(t.Context()); n != 1 || !errors.Is(err, s.fail) {
		t.Errorf("a delete that fails again: %d, %v", n, err)
	}
	again := cache.DeleteLog{Database: l.db, Cache: r} // of a process that begins later
	if n, err := again.Retry(t.Context()); n != 1 || err != nil {
		t.Errorf("retry: %d, %v", n, err)
	}
	reads(t, r, 2)
	put(t, again, "three")
	if n, err := again.Retry(t.Context()); n != 0 || err != nil {
		t.Errorf("what is done stays in the log: %d, %v", n, err)
	}
	if _, err := again.Put(t.Context(), 0, ""); !errors.Is(err, cache.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// An update without its entry in the log is none.
func TestDeleteLogIsOneTransaction(t *testing.T) {
	l := newLab(t)
	put(t, l.db, "one")
	if err := l.raw.Exec("DROP TABLE cache_deletes").Error; err != nil {
		t.Fatal(err)
	}
	w := cache.DeleteLog{Database: l.db, Cache: l.aside(cache.Config{})}
	if _, err := w.Put(t.Context(), id, "two"); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	reads(t, l.db, 1)
}

// refusing forgets nothing.
type refusing struct{}

func (refusing) Delete(context.Context, uint64) error { return nil }

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

// Two writers of one item each count one version, in MariaDB as in SQLite.
func TestVersions(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { countVersions(t, newLab(t).db) })
	t.Run("mariadb", func(t *testing.T) {
		testenv.Needs(t, testenv.MariaDB)
		server, err := testenv.Stack(t).MariaDB(testenv.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		db, _ := newDatabase(t, "mysql:"+server.DSN)
		countVersions(t, db)
	})
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
