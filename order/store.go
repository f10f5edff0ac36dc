package order

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/gorm"
)

// answer bounds every call to the database, including a wait for SQLite's write lock.
const answer = 5 * time.Second

// Store keeps orders in a database.
type Store struct {
	db    *gorm.DB
	name  string // of the database, for errors; without its password
	think time.Duration

	creating sync.Mutex // held by the one call that creates lost tables
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
	return s.do(ctx, tables)
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
	bound, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	err := s.withTables(s.db.WithContext(bound), call)
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

// creations bounds how often one call creates tables. Other instances create them at the same moment, which may fail the first tries.
const creations = 3

// withTables repeats a call that finds no table, after it has created the tables: a database that keeps its data in memory starts empty.
// A call is one statement or one transaction. It changed nothing when it ends with this error, so the repetition is its first effect.
func (s *Store) withTables(db *gorm.DB, call func(*gorm.DB) error) error {
	err := call(db)
	for range creations {
		if !tableMissing(err) {
			break
		}
		created := s.createLost(db)
		if err = call(db); err != nil {
			err = errors.Join(err, created)
		}
	}
	return err
}

// createLost creates missing tables. Of many calls that find none, the first creates them.
func (s *Store) createLost(db *gorm.DB) error {
	s.creating.Lock()
	defer s.creating.Unlock()
	if !tableMissing(tables(db)) {
		return nil
	}
	return createTables(db)
}

// tables returns an error unless both tables are there.
func tables(db *gorm.DB) error { return db.Exec("SELECT 1 FROM orders, wins LIMIT 1").Error }

// mysqlNoSuchTable is an error number of MySQL and MariaDB.
const mysqlNoSuchTable = 1146

func tableMissing(err error) bool {
	if answered := (*driver.MySQLError)(nil); errors.As(err, &answered) {
		return answered.Number == mysqlNoSuchTable
	}
	return err != nil && strings.Contains(err.Error(), "no such table") // SQLite has no number for it
}
