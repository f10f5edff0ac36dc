package tables_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/glebarez/sqlite"
	driver "github.com/go-sql-driver/mysql"
	"golang.org/x/sync/errgroup"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"locklab/internal/tables"
	"locklab/lab/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type book struct {
	ID    uint64
	Title string `gorm:"size:100;not null"`
}

type reader struct {
	ID   uint64
	Name string `gorm:"size:100;not null"`
}

func set() *tables.Set { return tables.Of(&book{}, &reader{}) }

func open(t *testing.T, dialect gorm.Dialector) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(dialect, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pool, err := db.DB(); err == nil {
			_ = pool.Close()
		}
	})
	return db.WithContext(testenv.Context(t))
}

func TestTables(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		testLostTables(t, open(t, sqlite.Open(filepath.Join(t.TempDir(), "books.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)")))
	})
	t.Run("mariadb", func(t *testing.T) {
		testenv.Needs(t, testenv.MariaDB)
		server, err := testenv.Stack(t).MariaDB(testenv.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		testLostTables(t, open(t, mysql.Open(server.DSN)))
	})
}

// drop removes the tables, if they are there.
func drop(t *testing.T, db *gorm.DB, models ...any) {
	t.Helper()
	if err := db.Migrator().DropTable(models...); err != nil {
		t.Fatal(err)
	}
}

// Many callers find a table gone. Each call has its effect once, and an error of another kind is not repeated.
func testLostTables(t *testing.T, db *gorm.DB) {
	all := set()
	for _, lost := range [][]any{{&book{}, &reader{}}, {&book{}}, {&reader{}}} {
		drop(t, db, lost...)
		if err := all.There(db); !tables.Missing(err) {
			t.Errorf("without %T: %v", lost[0], err)
		}
		var group errgroup.Group
		for range 10 {
			group.Go(func() error {
				return all.Do(db, func(db *gorm.DB) error {
					return db.Transaction(func(tx *gorm.DB) error {
						return errors.Join(tx.Create(&book{Title: "x"}).Error, tx.Create(&reader{Name: "x"}).Error)
					})
				})
			})
		}
		if err := errors.Join(group.Wait(), all.There(db)); err != nil {
			t.Errorf("without %T: %v", lost[0], err)
		}
		for _, model := range lost {
			var n int64
			if err := db.Model(model).Count(&n).Error; err != nil || n != 10 {
				t.Errorf("%T has %d rows, want 10, %v", model, n, err)
			}
		}
	}
	repetitions(t, db, all)
}

// repetitions checks which errors of a call are followed by another call.
func repetitions(t *testing.T, db *gorm.DB, all *tables.Set) {
	t.Helper()
	for name, c := range map[string]struct {
		answers []error // of the calls, in order
		fails   bool
	}{
		"another error":                      {[]error{errors.New("no")}, true},
		"a deadlock with other transactions": {[]error{answered(1213), nil}, false},
		"deadlocks without end":              {slices.Repeat([]error{answered(1213)}, 6), true},
		"a deadlock with another creator":    {[]error{answered(1146), answered(1213), nil}, false},
		"another error after the creation":   {[]error{answered(1146), errors.New("no")}, true},
	} {
		calls := 0
		err := all.Do(db, func(*gorm.DB) error { calls++; return c.answers[calls-1] })
		if (err != nil) != c.fails || calls != len(c.answers) {
			t.Errorf("%s: %v after %d calls, want %d", name, err, calls, len(c.answers))
		}
	}
}

func answered(number uint16) error {
	return fmt.Errorf("insert: %w", &driver.MySQLError{Number: number})
}

// A call that SQLite refuses is repeated while its context has not ended. An answer to a repetition counts, also after that end.
func TestWaitToWrite(t *testing.T) {
	locked, other := errors.New("insert: database is locked (5) (SQLITE_BUSY)"), errors.New("other")
	const writing = "is writing, perhaps that of another process: context deadline exceeded: insert: database is locked"
	ends := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	interrupts := func(ctx context.Context) error { <-ctx.Done(); return errors.New("interrupted (9)") }
	for name, c := range map[string]struct {
		answers []any // of the calls, in order: an error, or a func; the last is repeated
		want    string
		calls   int // 0: as many as the time allows
	}{
		"no other writer":                   {[]any{nil}, "", 1},
		"another writer for a while":        {[]any{locked, locked, nil}, "", 3},
		"another error":                     {[]any{other, nil}, "other", 1},
		"another error after a writer":      {[]any{locked, other}, "other", 2},
		"a writer that does not let go":     {[]any{locked}, writing, 0},
		"the end of the context in a call":  {[]any{locked, ends}, writing, 0},
		"an interruption at its end":        {[]any{locked, interrupts}, writing, 0},
		"an answer after the context ended": {[]any{locked, func(ctx context.Context) error { <-ctx.Done(); return other }}, "other", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				calls := 0
				err := tables.WaitToWrite(&gorm.DB{Statement: &gorm.Statement{Context: ctx}}, func(*gorm.DB) error {
					calls++
					switch answer := c.answers[min(calls, len(c.answers))-1].(type) {
					case error:
						return answer
					case func(context.Context) error:
						return answer(ctx)
					}
					return nil
				})
				if !strings.Contains(fmt.Sprint(err), c.want) || (err == nil) != (c.want == "") || c.calls > 0 && calls != c.calls {
					t.Errorf("%v after %d calls, want %q after %d", err, calls, c.want, c.calls)
				}
			})
		})
	}
}

// A call without an end of its own ends after the timeout of a call.
func TestACallIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, began := &gorm.DB{Config: &gorm.Config{}, Statement: &gorm.Statement{Context: t.Context()}}, time.Now()
		err := set().DoWithin(t.Context(), db, func(db *gorm.DB) error {
			<-db.Statement.Context.Done()
			return db.Statement.Context.Err()
		})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != tables.CallTimeout {
			t.Errorf("after %s: %v", took, err)
		}
	})
}
