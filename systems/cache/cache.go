// Package cache keeps items in Redis before a database (A3). It has the three problems of reading that A3 names, and the ways to write.
//
// A [Reader] answers with an item, and each type adds one property to the reader below it. [Database] is the truth and counts loads;
// [Redis] is cache-aside. [Bloom] lets no load of an absent key through (penetration). [Local] is a second level in the process
// (avalanche). [SingleFlight], [Locked] and [Refreshing] let one caller load (breakdown). A [Writer] updates the database and makes the
// cache follow; package changes does that after what the database itself says has changed.
//
// What is NOT guaranteed: that a reader never sees an old item. A reader that has loaded before an update may fill after the last delete.
// No writer of this package prevents that: the TTL ends it. A read fails when Redis does not answer ([ErrUnavailable]): it does not fall
// back to the database, which could not bear all reads.
package cache

import (
	"context"
	"errors"
	"fmt"
)

// Item is a row of the database.
type Item struct {
	ID      uint64 `gorm:"primaryKey;autoIncrement:false" json:"id"`
	Text    string `gorm:"size:1000;not null" json:"text"`
	Version int64  `gorm:"not null" json:"version"` // counts the updates, from 1
}

// Table is where the items are, and MaxText the longest text of one, in bytes.
const (
	Table   = "cache_items"
	MaxText = 1000
)

// TableName implements gorm's Tabler.
func (Item) TableName() string { return Table }

// Errors of a cache. After ErrUnavailable a write may have been done, and the cache may have an old item, unless the error is also
// ErrNotWritten: no connection to the database could be opened, or it refused to write.
var (
	ErrNotFound    = errors.New("cache: item not found")
	ErrUnavailable = errors.New("cache: server unavailable") // Redis or the database gave no usable answer
	ErrNotWritten  = errors.New("nothing was written")
	ErrInvalid     = errors.New("cache: invalid")    // an argument
	ErrMiss        = errors.New("cache: not cached") // it does not know whether there is such an item
)

type (
	// Reader answers with an item, or with [ErrNotFound].
	Reader interface {
		Get(ctx context.Context, id uint64) (Item, error)
	}
	// Cache is a reader that can say what it has, without a load: [ErrMiss] if it has nothing.
	Cache interface {
		Reader
		Cached(ctx context.Context, id uint64) (Item, error)
	}
	// Deleter forgets an item.
	Deleter interface {
		Delete(ctx context.Context, id uint64) error
	}
	// Writer inserts or updates an item.
	Writer interface {
		Put(ctx context.Context, id uint64, text string) (Item, error)
	}
	// Locker runs fn while it holds key. fn's context ends when the lock is lost.
	Locker interface {
		Do(ctx context.Context, key string, fn func(ctx context.Context, token uint64) error) error
	}
)

// answered turns a server's error into one of this package's.
func answered(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, ErrNotFound):
		return err
	case ctx.Err() != nil: // no error of the server: the caller left
		return errors.Join(ctx.Err(), context.Cause(ctx), err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}
