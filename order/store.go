package order

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"locklab/internal/tables"
)

// Store keeps orders in a database.
type Store struct {
	db     *gorm.DB
	tables *tables.Set
	name   string                          // of the database, for errors; without the password
	think  func(ctx context.Context) error // between read and write; nil: no pause
}

// Create creates an open order.
func (s *Store) Create(ctx context.Context) (Order, error) {
	order := Order{Status: Open, CreatedAt: time.Now().UTC()}
	err := s.do(ctx, func(db *gorm.DB) error { return db.Create(&order).Error })
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

// DB returns the database, for a lock that is kept beside the orders. Close of the store closes it.
func (s *Store) DB() *gorm.DB { return s.db }

// Close closes the database.
func (s *Store) Close() error {
	pool, err := s.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// String returns the name of the database, without its password.
func (s *Store) String() string { return s.name }

// do makes a call with a timeout and converts its error into one of this package.
func (s *Store) do(ctx context.Context, call func(*gorm.DB) error) error {
	err := s.tables.DoWithin(ctx, s.db, call)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return ErrNotFound
	case errors.Is(err, ErrStale): // the database has answered, even if ctx has ended since
		return err
	case ctx.Err() != nil: // not an error of the database: the caller left, or the lock was lost
		return errors.Join(ctxError(ctx), err)
	case tables.NotSent(err):
		return fmt.Errorf("%w: %s: %w; %w", ErrUnavailable, s.name, err, ErrNotWritten)
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, s.name, err)
}
