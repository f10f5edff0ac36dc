package variants_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/database"
	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/systems/cache"
	"locklab/systems/cache/variants"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// open returns the variants of two instances over one Redis and one database.
func open(t *testing.T, database string) (sets [2]*variants.Set) {
	t.Helper()
	node, lock := testenv.Redis(t, false), testenv.Mutex()
	for i := range sets {
		sets[i], _ = instance(t, node.Addr, database, string(rune('a'+i)), lock)
	}
	return sets
}

// instance returns the variants of one instance, and what they stand on.
func instance(t *testing.T, addr, url, name string, lock cache.Locker) (*variants.Set, variants.Backends) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	db, err := database.Open(testenv.Context(t), url)
	if err != nil {
		t.Fatal(err)
	}
	b := variants.Backends{
		Instance: name, Redis: client, DB: db.DB, Lock: lock, TTL: time.Hour, Log: slog.New(slog.DiscardHandler),
		Failed: func(what string, err error) { logged(t, what, err) },
	}
	set := variants.New(b)
	t.Cleanup(func() { _ = errors.Join(set.Close(), client.Close(), db.Close()) })
	return set, b
}

// logged notes a failure in the background. It must be one.
func logged(t *testing.T, what string, err error) {
	if t.Log(what, err); err == nil {
		t.Errorf("%s has not failed", what)
	}
}

// alone is one instance over servers of its own.
func alone(t *testing.T) (*variants.Set, variants.Backends) {
	t.Helper()
	return instance(t, testenv.Redis(t, false).Addr, "sqlite:"+filepath.Join(t.TempDir(), "items.db"), "a", testenv.Mutex())
}

func access(t *testing.T, s *variants.Set, name string) variants.Access {
	t.Helper()
	a, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Both instances see the inserts and updates of one. With c2 and c7 they see them later, and with the others now, or after the change.
func TestEveryVariantFollows(t *testing.T) {
	t.Parallel()
	sets := open(t, "sqlite:"+filepath.Join(t.TempDir(), "items.db"))
	for i, v := range variants.All() {
		t.Run(v.Name, func(t *testing.T) {
			id := uint64(i + 1)
			one, other := access(t, sets[0], v.Name), access(t, sets[1], v.Name)
			if _, err := other.Get(t.Context(), id); !errors.Is(err, cache.ErrNotFound) {
				t.Errorf("before it is inserted: %v", err)
			}
			for version := range int64(2) {
				if _, err := one.Put(t.Context(), id, "x"); err != nil {
					t.Fatal(err)
				}
				if v.Name == "c7" && version == 1 {
					return // it is old for an age
				}
				for instance, a := range []variants.Access{one, other} {
					if v.Name == "c2" && version == 1 && instance == 1 {
						continue // its second level is old
					}
					testenv.Eventually(t, "the instance sees it", func() bool {
						item, err := a.Get(t.Context(), id)
						return err == nil && item.Version == version+1
					})
				}
			}
		})
	}
}

// The filter of c1 spares the database. An empty answer of c3 is kept for a tenth of the TTL.
func TestAbsentItems(t *testing.T) {
	set, b := alone(t)
	ctx, loads := cache.CountLoads(t.Context())
	absent := access(t, set, "c1")
	for id := range uint64(20) {
		if _, err := absent.Get(ctx, id+1); !errors.Is(err, cache.ErrNotFound) {
			t.Fatal(err)
		}
	}
	if n := loads.Load(); n != 0 {
		t.Errorf("the database was asked %d times", n)
	}
	if _, err := access(t, set, "c3").Get(ctx, 9); !errors.Is(err, cache.ErrNotFound) {
		t.Fatal(err)
	}
	if left := b.Redis.PTTL(t.Context(), "c3:item:9").Val(); left <= 0 || left > b.TTL/10 {
		t.Errorf("the empty answer is kept for %s, want %s at most", left, b.TTL/10)
	}
}

// c4 deletes again after its delay, and c5 deletes what the log has. So a key that came back in between is not old for the TTL.
func TestDeletesComeAgain(t *testing.T) {
	t.Parallel()
	set, b := alone(t)
	twice, logged := access(t, set, "c4"), access(t, set, "c5")
	for _, a := range []variants.Access{twice, logged} {
		if _, err := a.Put(t.Context(), 7, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Get(t.Context(), 7); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.DB.Exec("INSERT INTO cache_deletes (item_id) VALUES (7)").Error; err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"c4:item:7", "c5:item:7"} {
		testenv.Eventually(t, key+" is deleted again", func() bool { return b.Redis.Exists(t.Context(), key).Val() == 0 })
	}
}

// The filter of c1 knows what another variant has inserted.
func TestFilterKnowsAllWriters(t *testing.T) {
	sets := open(t, "sqlite:"+filepath.Join(t.TempDir(), "items.db"))
	absent, writer := access(t, sets[0], "c1"), access(t, sets[1], "c3")
	if _, err := writer.Put(t.Context(), 7, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := absent.Get(t.Context(), 7); err != nil {
		t.Error(err)
	}
}

// An instance that cannot open its caches says so, and tries again.
func TestOpensLater(t *testing.T) {
	sets := open(t, "sqlite:"+filepath.Join(t.TempDir(), "items.db"))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sets[0].Open(gone, "c0"); err == nil {
		t.Error("it opened without its servers")
	}
	access(t, sets[0], "c0")
}

// A database that goes away fails what asks it: a caller that opens c6, and the work in the background.
func TestTheDatabaseGoesAway(t *testing.T) {
	_, b := alone(t)
	var deletes, relay atomic.Bool
	b.Failed = func(what string, err error) {
		logged(t, what, err)
		switch {
		case what == "retry deletes" && errors.Is(err, cache.ErrUnavailable):
			deletes.Store(true)
		case what == "relay changes":
			relay.Store(true)
		}
	}
	s, late := variants.New(b), variants.New(b)
	t.Cleanup(func() { _ = errors.Join(s.Close(), late.Close()) })
	access(t, s, "c5")
	access(t, s, "c6")
	pool, err := b.DB.DB()
	if err = errors.Join(err, pool.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Open(t.Context(), "c6"); !errors.Is(err, cache.ErrUnavailable) {
		t.Errorf("c6 is opened: %v", err)
	}
	testenv.Eventually(t, "the failures are told", func() bool { return deletes.Load() && relay.Load() })
}

// binlogServer starts a MariaDB whose binlog can be followed, with one item.
func binlogServer(t *testing.T, text string) (*servers.Database, variants.Backends) {
	t.Helper()
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t), "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
	if err != nil {
		t.Fatal(err)
	}
	set, b := instance(t, testenv.Redis(t, false).Addr, "mysql:"+server.DSN, "a", testenv.Mutex())
	if _, err := access(t, set, "c0").Put(t.Context(), 7, text); err != nil {
		t.Fatal(err)
	}
	return server, b
}

// Over MariaDB c6 follows the binlog. The address moves to another server, and the old one lives on, with its open connections. c6 says
// that it does not know what it misses, and answers from the new server. What it had is dropped before it is used again.
func TestTheDatabaseBehindAnAddressMoves(t *testing.T) {
	old, _ := binlogServer(t, "old")
	newer, direct := binlogServer(t, "newer")
	var at atomic.Pointer[servers.Database]
	at.Store(newer)
	proxy := faultproxy.New(func(ctx context.Context) (net.Conn, error) { return faultproxy.TCP(at.Load().Addr)(ctx) })
	t.Cleanup(proxy.Close)
	addr, err := proxy.Listen()
	if err != nil {
		t.Fatal(err)
	}
	dsn := strings.Replace(old.DSN, old.Addr, addr, 1)
	unused, b := instance(t, testenv.Redis(t, false).Addr, "mysql:"+dsn, "a", testenv.Mutex())
	_ = unused.Close()
	var said strings.Builder
	b.MySQL, b.Log = dsn, slog.New(slog.NewTextHandler(&said, nil))
	s := variants.New(b)
	t.Cleanup(func() { _ = s.Close() })
	other := access(t, s, "c5")
	sees(t, other, 7, "newer") // over a connection that stays open
	at.Store(old)
	c6 := access(t, s, "c6")
	used := func() {
		testenv.Eventually(t, "c6 uses its cache", func() bool { return s.Bypassed() == nil })
	}
	bypassed := func(says string) {
		testenv.Eventually(t, "c6 says "+says, func() bool { return strings.Contains(fmt.Sprint(s.Bypassed()), says) })
	}
	used()
	if item, err := c6.Get(t.Context(), 7); err != nil || item.Text != "old" {
		t.Errorf("c6 answers %q, %v", item.Text, err)
	}
	if _, err := other.Put(t.Context(), 8, "by c5"); err != nil { // it knows nothing of the cache of c6
		t.Fatal(err)
	}
	sees(t, c6, 8, "by c5")
	sees(t, c6, 7, "old")
	at.Store(newer)
	bypassed("not the one whose binlog is read")
	for range 2 {
		if item, err := c6.Get(t.Context(), 7); err != nil || item.Text != "newer" {
			t.Errorf("c6 answers %q, %v", item.Text, err)
		}
		used()
	}
	if cached := b.Redis.Get(t.Context(), "c6:item:7").Val(); !strings.Contains(cached, "newer") {
		t.Errorf("cached is %q", cached)
	}
	// Changes that cannot be read.
	if err := direct.DB.Exec("SET GLOBAL log_bin_compress = ON").Error; err != nil {
		t.Fatal(err)
	}
	if _, err := other.Put(t.Context(), 7, strings.Repeat("z", 900)); err != nil {
		t.Fatal(err)
	}
	bypassed("log_bin_compress")
	if item, err := c6.Get(t.Context(), 7); err != nil || item.Text == "newer" {
		t.Errorf("c6 answers %q, %v", item.Text, err)
	}
	if err := s.Close(); err != nil || strings.Count(said.String(), "the cache is dropped") != 2 {
		t.Errorf("the log says %q, %v", said.String(), err)
	}
}

// sees waits until a variant answers with the text.
func sees(t *testing.T, a variants.Access, id uint64, text string) {
	t.Helper()
	testenv.Eventually(t, "it sees "+text, func() bool {
		item, err := a.Get(t.Context(), id)
		return err == nil && item.Text == text
	})
}

// Without a binlog there is no c6, for good, and the other variants are there.
func TestWithoutABinlog(t *testing.T) {
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	one, b := instance(t, testenv.Redis(t, false).Addr, "mysql:"+server.DSN, "a", testenv.Mutex())
	_ = one.Close()
	b.MySQL = server.DSN
	s := variants.New(b)
	t.Cleanup(func() { _ = s.Close() })
	access(t, s, "c5")
	if _, err := s.Open(t.Context(), "c6"); !errors.Is(err, variants.ErrAbsent) || !strings.Contains(err.Error(), "--log-bin") {
		t.Errorf("there is no binlog: %v", err)
	}
}
