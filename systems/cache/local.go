package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/maypok86/otter/v2"
)

// Local is a second level in the process, over a reader. A write by another process does not reach it: its answer may be as old as its
// TTL.
type Local struct {
	source Reader
	cache  items
}

// items is a cache of otter. Its own type is generic: in the place of this interface it would be compiled once more in each package that
// has a Local.
type items interface {
	GetIfPresent(id uint64) (Item, bool)
	Set(id uint64, item Item) (Item, bool)
	Invalidate(id uint64) (Item, bool)
	StopAllGoroutines() bool
}

// NewLocal returns a second level for so many items. Its TTL is counted from the fill.
func NewLocal(source Reader, items int, ttl time.Duration) (*Local, error) {
	if items < 1 || ttl < time.Millisecond {
		return nil, fmt.Errorf("%w: the second level has %d items and a TTL of %s; it needs 1 and 1ms at least", ErrInvalid, items, ttl)
	}
	options := otter.Options[uint64, Item]{MaximumSize: items, ExpiryCalculator: otter.ExpiryWriting[uint64, Item](ttl)}
	return &Local{source, otter.Must(&options)}, nil
}

// Get implements [Reader]. A missing item is not kept.
func (l *Local) Get(ctx context.Context, id uint64) (Item, error) {
	if item, ok := l.cache.GetIfPresent(id); ok {
		return item, nil
	}
	item, err := l.source.Get(ctx, id)
	if err == nil {
		l.cache.Set(id, item)
	}
	return item, err
}

// Delete implements [Deleter], for this process.
func (l *Local) Delete(_ context.Context, id uint64) error { l.cache.Invalidate(id); return nil }

// Close ends what runs in the background.
func (l *Local) Close() error { l.cache.StopAllGoroutines(); return nil }
