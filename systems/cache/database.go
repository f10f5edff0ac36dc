package cache

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"locklab/internal/tables"
)

// Database is the truth.
type Database struct {
	db     *gorm.DB
	tables *tables.Set
	query  time.Duration
	loads  atomic.Int64
}

// NewDatabase creates the tables when they are missing, as every call does. A load takes query longer than the database needs: as long
// as a real one.
func NewDatabase(ctx context.Context, db *gorm.DB, query time.Duration) (*Database, error) {
	if query < 0 {
		return nil, fmt.Errorf("%w: the time of a query is %s; it must not be negative", ErrInvalid, query)
	}
	d := &Database{db: db, tables: tables.Of(&Item{}, &pendingDelete{}), query: query}
	return d, answered(ctx, d.tables.Do(d.db.WithContext(ctx), d.tables.Create)) // only ctx bounds the start
}

// do bounds a call and turns its error into one of this package's.
func (d *Database) do(ctx context.Context, call func(*gorm.DB) error) error {
	return answered(ctx, d.tables.DoWithin(ctx, d.db, call))
}

// Get loads an item.
func (d *Database) Get(ctx context.Context, id uint64) (item Item, err error) {
	d.loads.Add(1)
	if n, counts := ctx.Value(loadsKey{}).(*atomic.Int64); counts {
		n.Add(1)
	}
	select {
	case <-time.After(d.query):
	case <-ctx.Done():
		return item, answered(ctx, ctx.Err())
	}
	err = d.do(ctx, func(db *gorm.DB) error { return db.Take(&item, id).Error })
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return Item{}, fmt.Errorf("%w: %d", ErrNotFound, id)
	}
	return item, err
}

// Loads is how many loads have reached the database.
func (d *Database) Loads() int64 { return d.loads.Load() }

type loadsKey struct{}

// CountLoads returns a context, and the number of loads that were made for a caller with it. A caller that got the answer of another
// one's load has made none.
func CountLoads(ctx context.Context) (context.Context, *atomic.Int64) {
	n := new(atomic.Int64)
	return context.WithValue(ctx, loadsKey{}, n), n
}

// Put implements [Writer]. It knows no cache.
func (d *Database) Put(ctx context.Context, id uint64, text string) (Item, error) {
	return d.put(ctx, id, text, func(*gorm.DB) error { return nil })
}

// put writes an item, and does also what belongs to the same transaction.
func (d *Database) put(ctx context.Context, id uint64, text string, also func(*gorm.DB) error) (item Item, err error) {
	if len(text) > MaxText || id == 0 {
		return item, fmt.Errorf("%w: an item has an id from 1 and a text of at most %d bytes; this is item %d with %d bytes",
			ErrInvalid, MaxText, id, len(text))
	}
	next := clause.OnConflict{
		Columns:   []clause.Column{{Name: "id"}},
		DoUpdates: clause.Assignments(map[string]any{"text": text, "version": gorm.Expr(Table + ".version + 1")}),
	}
	err = d.do(ctx, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			return errors.Join(
				tx.Clauses(next).Create(&Item{ID: id, Text: text, Version: 1}).Error,
				tx.Take(&item, id).Error, also(tx),
			)
		})
	})
	if tables.NotExecuted(err) {
		err = fmt.Errorf("%w; %w", err, ErrNotWritten)
	}
	return item, err
}
