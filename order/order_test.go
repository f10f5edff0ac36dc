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

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/order"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// password is the password of the database user. No error and no name may contain it.
const password = "hunter2"

// newDatabase creates an empty database and returns its URL.
type newDatabase func(t *testing.T) string

// onEachDatabase runs test over SQLite, and over MariaDB if it is installed.
func onEachDatabase(t *testing.T, test func(t *testing.T, database newDatabase)) {
	t.Run("sqlite", func(t *testing.T) { test(t, sqlite) })
	t.Run("mariadb", func(t *testing.T) {
		server := sharedMariaDB.Of(t)
		test(t, func(t *testing.T) string { return createDatabase(t, server) })
	})
}

func sqlite(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "orders.db") }

var sharedMariaDB = testenv.Shared[*servers.Database]{
	Need:  testenv.MariaDB,
	Start: func(ctx context.Context, s *servers.Stack) (*servers.Database, error) { return s.MariaDB(ctx) },
}

// createDatabase creates a database, and a user that has a password.
func createDatabase(t *testing.T, server *servers.Database) string {
	t.Helper()
	name := fmt.Sprintf("orders_%d", time.Now().UnixNano())
	for _, statement := range []string{
		"CREATE DATABASE " + name, "CREATE USER IF NOT EXISTS lab@127.0.0.1 IDENTIFIED BY '" + password + "'",
		"GRANT ALL ON *.* TO lab@127.0.0.1",
	} {
		exec(t, server.DSN, statement)
	}
	return "mysql:lab:" + password + "@tcp(" + server.Addr + ")/" + name
}

func exec(t *testing.T, dsn, statement string) { t.Helper(); execIn(t, "mysql:"+dsn, statement) }

// execIn executes a statement in a database.
func execIn(t *testing.T, where, statement string) {
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

// openStore opens a store that is closed with the test.
func openStore(t *testing.T, database string, think time.Duration) *order.Store {
	t.Helper()
	s, err := order.OpenStore(testenv.Context(t), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.WithThinkTime(think)
}

// openTwo opens two stores on one database, like two instances.
func openTwo(t *testing.T, database string, think time.Duration) []*order.Store {
	t.Helper()
	return []*order.Store{openStore(t, database, think), openStore(t, database, think)}
}

func createOrder(t *testing.T, s *order.Store) uint64 {
	t.Helper()
	o, err := s.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o.ID
}

func getOrder(t *testing.T, s *order.Store, id uint64) order.Order {
	t.Helper()
	o, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// startTogether excludes nobody: it waits for n calls and then grants them all at once.
func startTogether(n int) order.Locker {
	var missing sync.WaitGroup
	missing.Add(n)
	return testenv.LockerFunc(func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
		missing.Done()
		missing.Wait()
		return fn(ctx, 0)
	})
}

// grabFunc lets a driver try to get an order.
type grabFunc func(s *order.Store, driver uint64) (order.Result, error)

// runAttempts lets the drivers 1 to n try at once, over all stores in turn. Result i is that of driver i+1.
func runAttempts(t *testing.T, stores []*order.Store, n int, grab grabFunc) []order.Result {
	t.Helper()
	results, errs := make([]order.Result, n), make([]error, n)
	start := make(chan struct{})
	var drivers sync.WaitGroup
	for i := range n {
		drivers.Go(func() {
			<-start
			results[i], errs[i] = grab(stores[i%len(stores)], uint64(i+1))
		})
	}
	close(start)
	drivers.Wait()
	if failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(failed) > 0 {
		t.Fatalf("%d of %d drivers got an error: %v", len(failed), n, failed[0])
	}
	return results
}

// winnersOf returns the drivers that were told they won, and the recorded winners, both in ascending order.
func winnersOf(o order.Order, results []order.Result) (won, recorded []uint64) {
	for i, result := range results {
		if result.Won {
			won = append(won, uint64(i+1))
		}
	}
	for _, win := range o.Wins {
		recorded = append(recorded, win.Driver)
	}
	slices.Sort(recorded)
	return won, recorded
}
