package variants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"

	"locklab/internal/tables"
	"locklab/systems/cache"
	"locklab/systems/cache/changes"
)

// followed is a cache that is used only while it is sure that it misses no change of the database. Otherwise the database answers, and what
// is cached is dropped before it is used again. Several instances share what is cached, and each finds out by itself: an instance that has
// not found out yet may fill what is old, and drops it when it does.
type followed struct {
	cache  *cache.Redis
	source *cache.Database
	pool   *gorm.DB
	stream changes.Stream
	log    *slog.Logger

	filling sync.RWMutex          // held by each read that may fill
	unsure  atomic.Pointer[error] // why the cache is not used; nil: it is
}

var errNotYet = errors.New("it has just begun to read what changes")

func newFollowed(aside *cache.Redis, s *Set, stream changes.Stream) *followed {
	f := &followed{cache: aside, source: s.db, pool: s.b.DB, stream: stream, log: s.b.Log}
	f.unsure.Store(&errNotYet)
	return f
}

// Get implements [cache.Reader].
func (f *followed) Get(ctx context.Context, id uint64) (cache.Item, error) {
	if f.unsure.Load() == nil {
		f.filling.RLock()
		defer f.filling.RUnlock()
		if f.unsure.Load() == nil { // also after the wait
			return f.cache.Get(ctx, id)
		}
	}
	return f.source.Get(ctx, id)
}

// follow drops the cache, and reads what has changed from then on, until it is not sure any more.
func (f *followed) follow(ctx context.Context, from changes.Source) error {
	after, err := from.Now(ctx)
	if err == nil {
		err = f.cache.DeleteAll(ctx)
	}
	if err == nil {
		err = from.Follow(ctx, after, func(c changes.Change) error { return f.stream.Add(ctx, c) })
	}
	return err
}

// use uses the cache from now on. It is filled over new connections: the old ones may lead to another server than the one that is followed.
func (f *followed) use() {
	if f.unsure.Load() == nil {
		return
	}
	tables.Leave(f.pool)
	f.unsure.Store(nil)
	f.log.Info("the cache is used: it follows the database", "cache", f.cache.Prefix)
}

// leave lets the database answer from now on, over new connections: the old ones may lead to another server. It returns when nothing is
// filled in any more.
func (f *followed) leave(why error) {
	tables.Leave(f.pool)
	if f.unsure.Swap(&why) == nil {
		f.log.Warn("the cache is dropped, and the database answers: changes may be missing", "cache", f.cache.Prefix, "error", why)
	}
	f.filling.Lock()
	defer f.filling.Unlock()
}

// bypassed returns why the cache is not used; nil: it is.
func (f *followed) bypassed() error {
	if why := f.unsure.Load(); why != nil {
		return fmt.Errorf("the cache is not used, and the database answers: %w", *why)
	}
	return nil
}
