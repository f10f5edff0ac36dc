package shop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"locklab/internal/tables"
)

// Store keeps items and orders in a database.
type Store struct {
	db     *gorm.DB
	tables *tables.Set
	think  time.Duration
}

// New returns the shop in a database: MySQL, MariaDB or SQLite, which stays the caller's. think is the time between reading and writing.
// A call that finds no tables creates them. In a transaction of the caller's, a lock is released before the COMMIT.
func New(db *gorm.DB, think time.Duration) *Store {
	db = db.Session(&gorm.Session{NewDB: true})
	db.NamingStrategy = schema.NamingStrategy{TablePrefix: "shop_"}
	return &Store{db: db, tables: tables.Of(&Item{}, &Order{}, &Change{}, &Parcel{}, &handled{}, &owed{}, &Attempt{}), think: think}
}

// CreateTables creates missing tables, and fails where they cannot keep every text. Only ctx bounds it: a busy server takes long for that.
func (s *Store) CreateTables(ctx context.Context) error {
	return answeredBy(ctx, s.tables.Do(s.db.WithContext(ctx), s.tables.Create))
}

// do bounds a call and turns its error into one of this package's.
func (s *Store) do(ctx context.Context, call func(*gorm.DB) error) error {
	return answeredBy(ctx, s.tables.DoWithin(ctx, s.db, call))
}

// answeredBy turns an error of the database into one of this package's.
func answeredBy(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.As(err, new(refusal)): // an answer of the database, also if ctx has ended since
		return err
	case errors.Is(err, gorm.ErrRecordNotFound):
		return ErrNotFound
	case ctx.Err() != nil: // no error of the database: the caller left, or the lock was lost
		return errors.Join(ctx.Err(), context.Cause(ctx), err)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func (s *Store) transaction(ctx context.Context, work func(tx *gorm.DB) error) error {
	return notWritten(s.do(ctx, func(db *gorm.DB) error { return db.Transaction(work) }))
}

// notWritten adds [ErrNotWritten] to the error of a call that was not executed.
func notWritten(err error) error {
	if tables.NotExecuted(err) {
		return fmt.Errorf("%w; %w", err, ErrNotWritten)
	}
	return err
}

// duplicate reports whether a unique key refused a row.
func duplicate(db *gorm.DB, err error) bool {
	translator, ok := db.Dialector.(gorm.ErrorTranslator)
	return ok && errors.Is(translator.Translate(err), gorm.ErrDuplicatedKey)
}

// Stock puts so many pieces of an item on sale, and removes what was sold of it before, with the idempotency keys.
func (s *Store) Stock(ctx context.Context, item uint64, pieces int64) error {
	if pieces < 0 {
		return fmt.Errorf("%w: the stock is %d; it must be 0 or more", ErrInvalid, pieces)
	}
	return s.transaction(ctx, func(tx *gorm.DB) error {
		err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Item{item, pieces, pieces}).Error // first: it locks out buyers
		for _, rows := range []any{&Change{}, &Parcel{}, &handled{}, &owed{}, &Attempt{}} {
			err = errors.Join(err, tx.Where("order_id IN (SELECT id FROM shop_orders WHERE item_id = ?)", item).Delete(rows).Error)
		}
		return errors.Join(err, tx.Where("item_id = ?", item).Delete(&Order{}).Error)
	})
}

// Report counts what was sold of an item.
func (s *Store) Report(ctx context.Context, item uint64) (r Report, err error) {
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Take(&r.Item, item).Error; err != nil {
			return err
		}
		sold := tx.Model(&Order{}).Where("item_id = ? AND state <> ?", item, Cancelled)
		sums := sold.Session(&gorm.Session{}).Select("COUNT(*), COUNT(DISTINCT buyer), COALESCE(SUM(quantity), 0)").Row()
		return errors.Join(sums.Scan(&r.Orders, &r.Buyers, &r.Sold), sold.Distinct().Order("version").Pluck("version", &r.Versions).Error)
	})
	return r, err
}

// Order reads an order with its changes and parcels.
func (s *Store) Order(ctx context.Context, id uint64) (order Order, err error) {
	err = s.do(ctx, func(db *gorm.DB) error { return db.Preload("Changes").Preload("Parcels").Take(&order, id).Error })
	return order, err
}
