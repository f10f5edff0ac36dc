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
	name   string                          // of the database, for errors; without its password
	think  func(ctx context.Context) error // between reading and writing; nil: no time
}

// Create makes an open order.
func (s *Store) Create(ctx context.Context) (Order, error) {
	order := Order{Status: Open, CreatedAt: time.Now().UTC()}
	err := s.do(ctx, func(db *gorm.DB) error { return db.Create(&order).Error })
	return order, err
}

// Get reads an order with its wins, in the order in which they were written.
func (s *Store) Get(ctx context.Context, id uint64) (Order, error) {
	var order Order
	err := s.do(ctx, func(db *gorm.DB) error {
		return db.Preload("Wins", func(db *gorm.DB) *gorm.DB { return db.Order("id") }).Take(&order, id).Error
	})
	return order, err
}

// read reads an order alone.
func (s *Store) read(ctx context.Context, id uint64) (Order, error) {
	var order Order
	err := s.do(ctx, func(db *gorm.DB) error { return db.Take(&order, id).Error })
	return order, err
}

// Ping returns nil when the next order can be created: the database answers and has both tables. It creates missing tables, as every
// call does.
func (s *Store) Ping(ctx context.Context) error {
	return s.do(ctx, s.tables.There)
}

// Thinking is the same store with so much time between reading and writing an order; A2 sleeps one second.
func (s *Store) Thinking(think time.Duration) *Store {
	return s.ThinkingUntil(func(ctx context.Context) error { return pause(ctx, think) })
}

// ThinkingUntil is the same store, whose drivers think between reading and writing until think returns. An error of think ends the attempt,
// and nothing is written.
func (s *Store) ThinkingUntil(think func(ctx context.Context) error) *Store {
	thinking := *s
	thinking.think = think
	return &thinking
}

// DB is the database, for a lock that is kept beside the orders. It ends with the store.
func (s *Store) DB() *gorm.DB { return s.db }

// Close closes the database.
func (s *Store) Close() error {
	pool, err := s.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// String names the database.
func (s *Store) String() string { return s.name }

// do bounds a call and turns its error into one of this package's.
func (s *Store) do(ctx context.Context, call func(*gorm.DB) error) error {
	err := s.tables.DoWithin(ctx, s.db, call)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return ErrNotFound
	case errors.Is(err, ErrStale): // the database has answered, even if ctx has ended since
		return err
	case ctx.Err() != nil: // no error of the database: the caller left, or the lock was lost
		return errors.Join(ended(ctx), err)
	}
	return fmt.Errorf("%w: %s: %w", ErrUnavailable, s.name, err)
}
