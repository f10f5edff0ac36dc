package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/jellydator/ttlcache/v3"
)

// Local is a second level in the process, over a reader. A write by another process does not reach it: its answer may be as old as its
// TTL.
type Local struct {
	source Reader
	cache  items
}

// items is a ttlcache. Its own type is generic: in the place of this interface it would be compiled once more in each package that has a
// Local.
type items interface {
	Get(id uint64, options ...ttlcache.Option[uint64, Item]) *ttlcache.Item[uint64, Item]
	Set(id uint64, item Item, ttl time.Duration) *ttlcache.Item[uint64, Item]
	Delete(id uint64)
}

// NewLocal returns a second level for so many items. Its TTL is counted from the fill.
func NewLocal(source Reader, items int, ttl time.Duration) (*Local, error) {
	if items < 1 || ttl < time.Millisecond {
		return nil, fmt.Errorf("%w: the second level has %d items and a TTL of %s; it needs 1 and 1ms at least", ErrInvalid, items, ttl)
	}
	return &Local{source, ttlcache.New(ttlcache.WithTTL[uint64, Item](ttl), ttlcache.WithCapacity[uint64, Item](uint64(items)),
		ttlcache.WithDisableTouchOnHit[uint64, Item]())}, nil
}

// Get implements [Reader]. A missing item is not kept.
func (l *Local) Get(ctx context.Context, id uint64) (Item, error) {
	if kept := l.cache.Get(id); kept != nil {
		return kept.Value(), nil
	}
	item, err := l.source.Get(ctx, id)
	if err == nil {
		l.cache.Set(id, item, ttlcache.DefaultTTL)
	}
	return item, err
}

// Delete implements [Deleter], for this process.
func (l *Local) Delete(_ context.Context, id uint64) error { l.cache.Delete(id); return nil }
