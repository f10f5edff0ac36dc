package order_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/internal/testenv"
	"locklab/order"
	"locklab/stack"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// password is the database user's. No error and no name may show it.
const password = "hunter2"

// fresh makes an empty database and returns it as Config has it.
type fresh func(t *testing.T) string

// engines runs test over SQLite, which is always there, and over MariaDB.
func engines(t *testing.T, test func(t *testing.T, database fresh)) {
	t.Run("sqlite", func(t *testing.T) { test(t, sqlite) })
	t.Run("mariadb", func(t *testing.T) {
		server := mariaDB(t)
		test(t, func(t *testing.T) string { return createIn(t, server) })
	})
}

func sqlite(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "orders.db") }

// mariaDB starts a server whose user lab has a password.
func mariaDB(t *testing.T) *stack.Database {
	t.Helper()
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	execute(t, server.DSN, "CREATE USER lab@127.0.0.1 IDENTIFIED BY '"+password+"'")
	execute(t, server.DSN, "GRANT ALL ON *.* TO lab@127.0.0.1")
	return server
}

func createIn(t *testing.T, server *stack.Database) string {
	t.Helper()
	name := fmt.Sprintf("orders_%d", time.Now().UnixNano())
	execute(t, server.DSN, "CREATE DATABASE "+name)
	return "mysql:lab:" + password + "@tcp(" + server.Addr + ")/" + name
}

func execute(t *testing.T, dsn, statement string) { t.Helper(); executeIn(t, "mysql:"+dsn, statement) }

// executeIn executes a statement in a database as Config has it.
func executeIn(t *testing.T, where, statement string) {
	t.Helper()
	kind, dsn, _ := strings.Cut(where, ":")
	db, err := sql.Open(kind, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// open opens a store that ends with the test.
func open(t *testing.T, database string, think time.Duration) *order.Store {
	t.Helper()
	s, err := order.OpenStore(testenv.Context(t), order.Config{Database: database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Thinking(think)
}

// openTwo opens two stores on one database, as two instances have it.
func openTwo(t *testing.T, database string, think time.Duration) []*order.Store {
	t.Helper()
	return []*order.Store{open(t, database, think), open(t, database, think)}
}

func create(t *testing.T, s *order.Store) uint64 {
	t.Helper()
	o, err := s.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o.ID
}

func get(t *testing.T, s *order.Store, id uint64) order.Order {
	t.Helper()
	o, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// barrier is no lock: it grants all calls simultaneously when n have come.
func barrier(n int) order.Locker {
	var expected sync.WaitGroup
	expected.Add(n)
	return testenv.LockerFunc(func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
		expected.Done()
		expected.Wait()
		return fn(ctx, 0)
	})
}

// attempts lets the drivers 1 to n try at one moment, over all stores in turn, and returns what
// driver i+1 was told.
func attempts(t *testing.T, stores []*order.Store, n int, try func(s *order.Store, driver uint64) (order.Result, error)) []order.Result {
	t.Helper()
	told, errs := make([]order.Result, n), make([]error, n)
	start := make(chan struct{})
	var drivers sync.WaitGroup
	for i := range n {
		drivers.Go(func() {
			<-start
			told[i], errs[i] = try(stores[i%len(stores)], uint64(i+1))
		})
	}
	close(start)
	drivers.Wait()
	if failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(failed) > 0 {
		t.Fatalf("%d of %d drivers got an error: %v", len(failed), n, failed[0])
	}
	return told
}

// winners are the drivers that were told they won, and those of which it is recorded; ascending.
func winners(o order.Order, told []order.Result) (saw, recorded []uint64) {
	for i, result := range told {
		if result.Won {
			saw = append(saw, uint64(i+1))
		}
	}
	for _, win := range o.Wins {
		recorded = append(recorded, win.Driver)
	}
	slices.Sort(recorded)
	return saw, recorded
}

// Other programs lock with this name. The braces keep the keys of an order in one slot of a cluster.
func TestLockKey(t *testing.T) {
	if got := order.LockKey(42); got != "lock:order:{42}" {
		t.Errorf("the key of order 42 is %s", got)
	}
}
