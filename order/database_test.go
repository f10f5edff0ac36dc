package order_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/lab/testenv"
	"locklab/order"
)

// maxCallTime is longer than any call takes, and shorter than the timeout of a test.
const maxCallTime = 30 * time.Second

// A second instance must not change the tables that the first one uses.
func testReopen(t *testing.T, database newDatabase) {
	where := database(t)
	id := createOrder(t, openStore(t, where, 0))
	before := schemaChanges(t, where)
	s := openStore(t, where, 0)
	if after := schemaChanges(t, where); after != before {
		t.Errorf("opening the database again changed its tables: %d changes, then %d", before, after)
	}
	getOrder(t, s, id)
}

// A database in memory is empty after a restart. The next call of each instance creates the tables, and has its effect once: an UPDATE
// that succeeds before the INSERT fails for lack of its table is executed once as well.
func testLostTables(t *testing.T, database newDatabase) {
	where := database(t)
	stores := openTwo(t, where, 0)
	for name, call := range map[string]func(id uint64) error{
		"Ping":   func(uint64) error { return errors.Join(stores[0].Ping(t.Context()), stores[1].Ping(t.Context())) },
		"Create": func(uint64) error { _, err := stores[1].Create(t.Context()); return err },
		"Get":    func(id uint64) error { _, err := stores[1].Get(t.Context(), id); return err },
	} {
		id := createOrder(t, stores[0])
		execIn(t, where, "DROP TABLE wins")
		execIn(t, where, "DROP TABLE orders")
		if err := call(id); err != nil && !errors.Is(err, order.ErrNotFound) {
			t.Errorf("%s without tables: %v", name, err)
		}
	}
	for name, grab := range map[string]func(id uint64) grabFunc{
		"with a conditional UPDATE": grabAtomic,
		"with a lock":               func(id uint64) grabFunc { return grabWith(testenv.Mutex(), id) },
	} {
		id := createOrder(t, stores[0])
		execIn(t, where, "DROP TABLE wins")
		if result, err := grab(id)(stores[1], 7); err != nil || !result.Won {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		if o := getOrder(t, stores[0], id); o.Driver != 7 || len(o.Wins) != 1 {
			t.Errorf("%s: the order is %+v", name, o)
		}
	}
}

// If the database is missing, or its user may not create tables, every call returns an error that says so.
func TestMariaDBWithoutTables(t *testing.T) {
	t.Parallel()
	server := sharedMariaDB.Of(t)
	where := createDatabase(t, server)
	s := openStore(t, where, 0)
	id := createOrder(t, s)
	name := where[strings.LastIndex(where, "/")+1:]
	exec(t, server.DSN, "DROP DATABASE "+name)
	wantAllUnavailable(t, s, id)
	if err := s.Ping(t.Context()); !strings.Contains(err.Error(), "Unknown database '"+name+"'") {
		t.Errorf("without the database: %v", err)
	}
	exec(t, server.DSN, "CREATE DATABASE "+name)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("with an empty database: %v", err)
	}
	exec(t, server.DSN, "CREATE USER few@127.0.0.1 IDENTIFIED BY '"+password+"'")
	exec(t, server.DSN, "GRANT SELECT, INSERT, UPDATE ON "+name+".* TO few@127.0.0.1")
	few := openStore(t, strings.Replace(where, "lab:", "few:", 1), 0)
	execIn(t, where, "DROP TABLE wins, orders")
	wantAllUnavailable(t, few, id)
	if err := few.Ping(t.Context()); !strings.Contains(err.Error(), "CREATE command denied") {
		t.Errorf("without the right to create tables: %v", err)
	}
	if err := errors.Join(s.Ping(t.Context()), few.Ping(t.Context())); err != nil {
		t.Errorf("after another instance has created them: %v", err)
	}
}

// schemaChanges returns how often the tables of a database were changed.
func schemaChanges(t *testing.T, where string) (n int) {
	t.Helper()
	kind, dsn, _ := strings.Cut(where, ":")
	query := "PRAGMA schema_version"
	if kind == "mysql" {
		query = "SELECT SUM(VARIABLE_VALUE) FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN " +
			"('COM_ALTER_TABLE', 'COM_CREATE_TABLE', 'COM_CREATE_INDEX', 'COM_DROP_TABLE', 'COM_RENAME_TABLE')"
	}
	db, err := sql.Open(kind, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil || n == 0 {
		t.Fatalf("%d changes: %v, want at least the creation of the tables", n, err)
	}
	return n
}

// wantUnavailable fails unless err says that this database is unavailable, without its password.
func wantUnavailable(t *testing.T, s *order.Store, call string, err error) {
	t.Helper()
	if !errors.Is(err, order.ErrUnavailable) || !strings.Contains(err.Error(), s.String()) {
		t.Errorf("%s: got %v, want ErrUnavailable with %s", call, err, s)
	}
	wantNoPassword(t, err)
}

func wantNoPassword(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), password) {
		t.Errorf("the error contains the password: %v", err)
	}
}

// wantAllUnavailable fails unless all methods return such an error in time. They are called at the same time.
func wantAllUnavailable(t *testing.T, s *order.Store, id uint64) {
	t.Helper()
	start := time.Now()
	failed := make(map[string]<-chan error)
	for name, call := range map[string]func() error{
		"Ping":       func() error { return s.Ping(context.Background()) },
		"Get":        func() error { _, err := s.Get(context.Background(), id); return err },
		"Create":     func() error { _, err := s.Create(context.Background()); return err },
		"Grab":       func() error { _, err := grabWith(testenv.NoLock, id)(s, 1); return err },
		"GrabAtomic": func() error { _, err := grabAtomic(id)(s, 1); return err },
	} {
		result := make(chan error, 1)
		failed[name] = result
		go func() { result <- call() }()
	}
	for name, result := range failed {
		wantUnavailable(t, s, name, <-result)
	}
	if took := time.Since(start); took > maxCallTime {
		t.Errorf("it took %s", took)
	}
}

func testClosed(t *testing.T, database newDatabase) {
	s := openStore(t, database(t), 0)
	id := createOrder(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantAllUnavailable(t, s, id)
}

func TestMariaDBGoesDown(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	database := createDatabase(t, server)
	s := openStore(t, database+"?timeout=500ms&readTimeout=500ms", 0)
	id := createOrder(t, s)
	if name := s.String(); !strings.Contains(name, server.Addr) || strings.Contains(name, password) {
		t.Errorf("the name of the store is %s", name)
	}
	wantAccessDenied(t, strings.Replace(database, "lab:", "lab:not", 1))

	testenv.Pause(t, server)
	if _, err := s.Create(t.Context()); !errors.Is(err, order.ErrUnavailable) || errors.Is(err, order.ErrNotWritten) {
		t.Errorf("an order that was sent without an answer: %v", err)
	}
	wantAllUnavailable(t, s, id)
	if err := getWithTimeout(t, s, id); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("got %v, want the error of the context, and not ErrUnavailable", err)
	}
	wantOpenTimeout(t, database, "mysql "+server.Addr)

	server.Resume()
	testenv.Eventually(t, "the database answers again", func() bool { return s.Ping(t.Context()) == nil })
	server.Kill()
	wantAllUnavailable(t, s, id)
	if _, err := s.Create(t.Context()); !errors.Is(err, order.ErrNotWritten) {
		t.Errorf("an order for a server that is gone: %v", err)
	}
	wantOpenTimeout(t, database, "mysql "+server.Addr)
}

// getWithTimeout returns the error of a Get with a short timeout.
func getWithTimeout(t *testing.T, s *order.Store, id uint64) error {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := s.Get(ctx, id)
	return err
}

// wantAccessDenied fails unless OpenStore says that the server denied access. The server must answer before the context ends, which may
// take longer on a busy machine.
func wantAccessDenied(t *testing.T, database string) {
	t.Helper()
	var err error
	for _, timeout := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second} {
		if err = openError(t, database, timeout); err == nil || strings.Contains(err.Error(), "Access denied") {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("got %v, want an error with %q", err, "Access denied")
	}
}

// wantOpenTimeout fails unless OpenStore returns soon after its context ends, with an error that contains want.
func wantOpenTimeout(t *testing.T, database, want string) {
	t.Helper()
	start := time.Now()
	err := openError(t, database, 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
	if took := time.Since(start); took > 4500*time.Millisecond { // a single call may take 5s
		t.Errorf("it took %s", took)
	}
}

// openError returns the error of OpenStore with a timeout.
func openError(t *testing.T, database string, timeout time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	s, err := order.OpenStore(ctx, database)
	if err == nil {
		_ = s.Close()
	}
	wantNoPassword(t, err)
	return err
}
