// Package variants is the one table of the ways to read and write items: the endpoints, the load script and the pages follow it. c0 is the
// cache as most people begin, and c1 to c6 each add what experiment C1 to C6 shows. c7 is another answer to C3.
package variants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/systems/cache"
	"locklab/systems/cache/changes"
)

// Variant is one way to read and write items. Each has a cache of its own, over the same items.
type Variant struct {
	Name    string // as in the path: c0
	Summary string
}

// All returns every variant.
func All() []Variant {
	return []Variant{
		{"c0", "Redis before the database, one TTL; update, then delete"},
		{"c1", "empty answers are kept for a short time, and a Bloom filter is in front"},
		{"c2", "spread TTLs, and a second level in the process"},
		{"c3", "one load for all instances: singleflight, and a lock"},
		{"c4", "the key is deleted again after two seconds"},
		{"c5", "each delete is in a log, and is retried until it is done"},
		{"c6", "the key is deleted after what the database says has changed"},
		{"c7", "no TTL, refreshed in the background: may be old, and never slow"},
	}
}

// Backends is what the variants are built on.
type Backends struct {
	Instance string // its name among all instances
	Redis    redis.Cmdable
	DB       *gorm.DB
	MySQL    string        // DSN of the database; empty: it is SQLite
	Lock     cache.Locker  // of all processes
	TTL      time.Duration // of an item, and the age at which c7 refreshes one
	Query    time.Duration // that a load takes longer than the database needs
	Log      *slog.Logger
	Failed   func(what string, err error) // is told what failed in the background
}

// Access is a variant, opened.
type Access struct {
	cache.Reader
	cache.Writer
}

// Set is the variants of one instance. The first request opens them: an instance that nobody asks for items runs nothing in the
// background.
type Set struct {
	b Backends

	mu       sync.Mutex
	db       *cache.Database // nil: not opened yet
	opened   map[string]Access
	follower atomic.Pointer[followed] // c6; nil: not opened yet
	running  sync.WaitGroup
	ending   context.Context // ends what runs in the background
	end      context.CancelFunc
	closers  []func() error
}

// New returns the variants over backends.
func New(b Backends) *Set {
	s := &Set{b: b}
	s.ending, s.end = context.WithCancel(context.Background())
	return s
}

// ErrAbsent says that an instance cannot have a variant on its database.
var ErrAbsent = errors.New("cache: no such variant here")

// Open returns a variant. An error leaves it to the next call to try again. c6 needs SQLite, or a server with a binlog: see
// [changes.Binlog].
func (s *Set) Open(ctx context.Context, name string) (Access, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		if err := s.open(ctx); err != nil {
			return Access{}, err
		}
	}
	if _, is := s.opened[name]; !is {
		if err := s.following(ctx, name); err != nil {
			return Access{}, err
		}
	}
	return s.opened[name], nil
}

func (s *Set) open(ctx context.Context) error {
	db, err := cache.NewDatabase(ctx, s.b.DB, s.b.Query)
	if err != nil {
		return err
	}
	s.db, s.opened = db, make(map[string]Access)
	for _, add := range []func(context.Context) error{s.absent, s.reading, s.writing} {
		if err := add(ctx); err != nil {
			s.db = nil
			return err
		}
	}
	return nil
}

// Close ends what runs in the background.
func (s *Set) Close() (err error) {
	s.end()
	s.running.Wait()
	for _, closer := range s.closers {
		err = errors.Join(err, closer())
	}
	return err
}

// aside is the cache of a variant.
func (s *Set) aside(name string, cfg cache.Config) (*cache.Redis, error) {
	cfg.Prefix, cfg.TTL = name+":item:", s.b.TTL
	return cache.NewRedis(s.b.Redis, s.db, cfg)
}

// brief is for how long an empty answer is kept.
func (s *Set) brief() time.Duration { return max(s.b.TTL/10, time.Millisecond) }

// absent adds the cache without anything, and the one with a filter.
func (s *Set) absent(ctx context.Context) error {
	plain, err := s.aside("c0", cache.Config{})
	if err != nil {
		return err
	}
	s.set("c0", plain, cache.UpdateThenDelete{Database: s.db, Cache: plain})
	empty, err := s.aside("c1", cache.Config{Empty: s.brief()})
	if err != nil {
		return err
	}
	filter := s.filter(empty, nil)
	s.set("c1", filter, cache.UpdateThenDelete{Database: s.db, Cache: empty})
	return filter.Build(ctx, s.db)
}

// filter is c1's filter before a reader and a writer.
func (s *Set) filter(r cache.Reader, w cache.Writer) *cache.Bloom {
	const items = 100_000
	return cache.NewBloom(s.b.Redis, "c1:bloom", items, r, w)
}

// set adds a variant. Every write adds the item to the filter.
func (s *Set) set(name string, r cache.Reader, w cache.Writer) {
	s.opened[name] = Access{r, s.filter(nil, w)}
}

// reading adds the variants that spare the database.
func (s *Set) reading(context.Context) error {
	spread, err := s.aside("c2", cache.Config{Empty: s.brief(), Spread: s.b.TTL})
	if err != nil {
		return err
	}
	local, err := cache.NewLocal(spread, 10_000, s.brief())
	if err != nil {
		return err
	}
	s.set("c2", local, cache.UpdateThenDelete{Database: s.db, Cache: both{spread, local}})
	hot, err := s.aside("c3", cache.Config{Empty: s.brief()})
	if err != nil {
		return err
	}
	s.set("c3", cache.NewSingleFlight(cache.Locked{Cache: hot, Lock: s.b.Lock}),
		cache.UpdateThenDelete{Database: s.db, Cache: hot})
	refreshing, err := cache.NewRefreshing(s.b.Redis, s.db, "c7:item:", s.b.TTL)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, refreshing.Close)
	s.set("c7", refreshing, s.db)
	return nil
}

// secondDelete is A3's delay.
const secondDelete = 2 * time.Second

// writing adds the variants whose deletes come again, or for certain.
func (s *Set) writing(context.Context) error {
	twice, err := s.aside("c4", cache.Config{Empty: s.brief()})
	if err != nil {
		return err
	}
	double := &cache.DoubleDelete{UpdateThenDelete: cache.UpdateThenDelete{Database: s.db, Cache: twice}, Delay: secondDelete}
	s.closers = append(s.closers, double.Close)
	s.set("c4", twice, double)
	logged, err := s.aside("c5", cache.Config{Empty: s.brief()})
	if err != nil {
		return err
	}
	log := cache.DeleteLog{Database: s.db, Cache: logged}
	s.set("c5", logged, log)
	s.background("retry deletes", func(ctx context.Context) error {
		_, err := log.Retry(ctx)
		return err
	})
	return nil
}

// following adds c6, whose keys are deleted after what the database says. The other variants need not wait until it has been asked.
func (s *Set) following(ctx context.Context, name string) error {
	s.mu.Unlock()
	_, err := s.source(ctx)
	s.mu.Lock()
	switch _, is := s.opened[name]; {
	case is: // another request was faster
		return nil
	case errors.Is(err, changes.ErrNoBinlog):
		return fmt.Errorf("%w: %s: %w", ErrAbsent, name, err)
	case err != nil:
		return fmt.Errorf("%w: %s: %w", cache.ErrUnavailable, name, err)
	}
	aside, err := s.aside(name, cache.Config{Empty: s.brief()})
	if err != nil {
		return err
	}
	f := newFollowed(aside, s, changes.Stream{Client: s.b.Redis, Key: name + ":changes", Idle: time.Second})
	s.follower.Store(f)
	s.background("relay changes", func(ctx context.Context) error {
		from, err := s.source(ctx) // a database that was lost needs its outbox again
		if err == nil {
			err = f.follow(ctx, from)
		}
		if ctx.Err() == nil {
			f.leave(err)
		}
		return err
	})
	s.background("consume changes", func(ctx context.Context) error { return f.stream.Consume(ctx, s.b.Instance, aside) })
	s.set(name, f, s.db)
	return nil
}

// Bypassed returns why c6 does not use its cache. It returns nil if c6 does, or if nobody has asked for it yet.
func (s *Set) Bypassed() error {
	if f := s.follower.Load(); f != nil {
		return f.bypassed()
	}
	return nil
}

// source is where c6's changes come from. It can be read from now on.
func (s *Set) source(ctx context.Context) (changes.Source, error) {
	sure := func() { s.follower.Load().use() }
	if s.b.MySQL == "" {
		o := changes.Outbox{DB: s.b.DB, Table: cache.Table, Every: 50 * time.Millisecond, Sure: sure}
		return o, o.Install(ctx)
	}
	b := changes.Binlog{DSN: s.b.MySQL, Table: cache.Table, Server: 1<<31 + rand.Uint32N(1<<31), Sure: sure}
	_, err := b.Now(ctx)
	return b, err
}

// background repeats work until Close, a second after it has ended.
func (s *Set) background(what string, work func(context.Context) error) {
	s.running.Go(func() {
		for s.ending.Err() == nil {
			if err := work(s.ending); err != nil && s.ending.Err() == nil {
				s.b.Failed(what, err)
			}
			select {
			case <-s.ending.Done():
			case <-time.After(time.Second):
			}
		}
	})
}

// both are two levels.
type both []cache.Deleter

func (b both) Delete(ctx context.Context, id uint64) (err error) {
	for _, level := range b {
		err = errors.Join(err, level.Delete(ctx, id))
	}
	return err
}
