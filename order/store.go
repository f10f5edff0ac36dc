package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/internal/tables"
)

// Store keeps orders in a database. Close closes the database.
type Store struct {
	*database.Database
	tables *tables.Set
	think  func(ctx context.Context) error // between read and write; nil: no pause
}

// OpenStore opens a database as [database.Open] does, and keeps orders there.
func OpenStore(ctx context.Context, url string) (*Store, error) {
	db, err := database.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	s, err := NewStore(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// NewStore keeps orders in an open database. It creates missing tables, and retries until ctx is done.
func NewStore(ctx context.Context, db *database.Database) (*Store, error) {
	s := &Store{Database: db, tables: tables.Of(&Order{}, &Win{})}
	return s, db.CreateTables(ctx, s.tables)
}

// Create creates an open order.
func (s *Store) Create(ctx context.Context) (Order, error) {
	var order Order
	err := s.do(ctx, func(db *gorm.DB) error {
		order = Order{Status: Open, CreatedAt: time.Now().UTC()} // without the id of a first try
		return db.Create(&order).Error
	})
	return order, err
}

// Get reads an order and its wins, oldest first.
func (s *Store) Get(ctx context.Context, id uint64) (Order, error) {
	var order Order
	err := s.do(ctx, func(db *gorm.DB) error {
		return db.Preload("Wins", func(db *gorm.DB) *gorm.DB { return db.Order("id") }).Take(&order, id).Error
	})
	return order, err
}

// read reads an order without its wins.
func (s *Store) read(ctx context.Context, id uint64) (Order, error) {
	var order Order
	err := s.do(ctx, func(db *gorm.DB) error { return db.Take(&order, id).Error })
	return order, err
}

// Ping returns an error if the database does not answer or a table is missing that cannot be created.
func (s *Store) Ping(ctx context.Context) error {
	return s.do(ctx, s.tables.There)
}

// WithThinkTime returns the same store with a pause between the read and the write of a grab. A2 sleeps one second.
func (s *Store) WithThinkTime(think time.Duration) *Store {
	return s.WithThink(func(ctx context.Context) error { return sleep(ctx, think) })
}

// WithThink returns the same store, which calls think between the read and the write of a grab. An error from think ends the attempt, and
// nothing is written.
func (s *Store) WithThink(think func(ctx context.Context) error) *Store {
	copied := *s
	copied.think = think
	return &copied
}

// do makes a call with a timeout and converts its error into one of this package.
func (s *Store) do(ctx context.Context, call func(*gorm.DB) error) error {
	err := s.tables.DoWithin(ctx, s.DB, call)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return ErrNotFound
	case errors.Is(err, ErrStale): // the database has answered, even if ctx has ended since
		return err
	case ctx.Err() != nil: // not an error of the database: the caller left, or the lock was lost
		return errors.Join(ctxError(ctx), err)
	case tables.NotExecuted(err):
		return fmt.Errorf("%w: %s: %w; %w", ErrUnavailable, s.Name, err, ErrNotWritten)
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, s.Name, err)
}
