package order_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/order"
)

// never is longer than any call may take, and shorter than a test that hangs.
const never = 30 * time.Second

func testTables(t *testing.T, database fresh) {
	for range 3 {
		where := database(t)
		stores := make([]*order.Store, 5)
		var group errgroup.Group
		for i := range stores {
			group.Go(func() (err error) {
				stores[i], err = order.OpenStore(testenv.Context(t), order.Config{Database: where})
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
		id := create(t, stores[0])
		for _, s := range stores {
			get(t, s, id)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A second instance must not rebuild tables under the first.
func testTablesAgain(t *testing.T, database fresh) {
	where := database(t)
	id := create(t, open(t, where, 0))
	before := changes(t, where)
	s := open(t, where, 0)
	if after := changes(t, where); after != before {
		t.Errorf("opening it again changed the tables: %d changes, then %d", before, after)
	}
	get(t, s, id)
}

// A database in memory starts empty. All its instances notice that with their next calls, simultaneously.
func testTablesLost(t *testing.T, database fresh) {
	where := database(t)
	stores := openTwo(t, where, 0)
	for round := range 3 {
		id := create(t, stores[0])
		executeIn(t, where, "DROP TABLE wins")
		executeIn(t, where, "DROP TABLE orders")
		var group errgroup.Group
		for i := range 40 {
			group.Go(func() error {
				if i < 2 {
					return stores[i].Ping(t.Context())
				}
				_, err := stores[i%2].Create(t.Context())
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if _, err := stores[1].Get(t.Context(), id+100); !errors.Is(err, order.ErrNotFound) {
			t.Errorf("an order that is lost: %v", err)
		}
		if result, err := grabAtomic(create(t, stores[1]))(stores[0], 1); err != nil || !result.Won {
			t.Errorf("an order after the loss: %+v, %v", result, err)
		}
	}
}

// The UPDATE succeeds before the INSERT finds no table. Both are done once.
func testTableLostInTransaction(t *testing.T, database fresh) {
	where := database(t)
	s := open(t, where, 0)
	for name, try := range map[string]func(uint64) func(*order.Store, uint64) (order.Result, error){
		"with a conditional UPDATE": grabAtomic,
		"with a lock":               func(id uint64) func(*order.Store, uint64) (order.Result, error) { return grabber(testenv.Mutex(), id) },
	} {
		id := create(t, s)
		executeIn(t, where, "DROP TABLE wins")
		if result, err := try(id)(s, 7); err != nil || !result.Won {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		if o := get(t, s, id); o.Driver != 7 || len(o.Wins) != 1 {
			t.Errorf("%s: the order is %+v", name, o)
		}
	}
}

// The database itself may be away, or its user may create nothing: then an error says so, and Ping too.
func TestMariaDBWithoutItsTablesSaysWhy(t *testing.T) {
	t.Parallel()
	server := mariaDB(t)
	where := createIn(t, server)
	s := open(t, where, 0)
	id := create(t, s)
	name := where[strings.LastIndex(where, "/")+1:]
	execute(t, server.DSN, "DROP DATABASE "+name)
	unavailableAll(t, s, id)
	if err := s.Ping(t.Context()); !strings.Contains(err.Error(), "Unknown database '"+name+"'") {
		t.Errorf("without the database: %v", err)
	}
	execute(t, server.DSN, "CREATE DATABASE "+name)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("with an empty database: %v", err)
	}
	execute(t, server.DSN, "CREATE USER few@127.0.0.1 IDENTIFIED BY '"+password+"'")
	execute(t, server.DSN, "GRANT SELECT, INSERT, UPDATE ON "+name+".* TO few@127.0.0.1")
	few := open(t, strings.Replace(where, "lab:", "few:", 1), 0)
	executeIn(t, where, "DROP TABLE wins, orders")
	unavailableAll(t, few, id)
	if err := few.Ping(t.Context()); !strings.Contains(err.Error(), "CREATE command denied") {
		t.Errorf("without the right to create tables: %v", err)
	}
	if err := errors.Join(s.Ping(t.Context()), few.Ping(t.Context())); err != nil {
		t.Errorf("after another instance has created them: %v", err)
	}
}

// A DSN may name a collation of utf8mb4. Any other character set is refused: it would change or refuse text.
func TestMariaDBWithACollation(t *testing.T) {
	t.Parallel()
	where := createIn(t, mariaDB(t))
	s := open(t, where+"?collation=utf8mb4_bin", 0)
	if result, err := grabber(testenv.Granted(1), create(t, s))(s, 7); err != nil || !result.Won {
		t.Errorf("got %+v, %v", result, err)
	}
	for parameter, says := range map[string]string{
		"collation=gbk_chinese_ci": "name one of utf8mb4", "charset=latin1": "the connection has latin1",
	} {
		if _, err := order.OpenStore(testenv.Context(t), order.Config{Database: where + "?" + parameter}); err == nil ||
			!strings.Contains(err.Error(), says) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %q without waiting", parameter, err, says)
		}
	}
}

// changes counts those that a database's tables have seen.
func changes(t *testing.T, where string) (n int) {
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
		t.Fatalf("%d changes of tables that somebody created: %v", n, err)
	}
	return n
}

// unavailable fails unless err says that this database is away, and not how to get into it.
func unavailable(t *testing.T, s *order.Store, call string, err error) {
	t.Helper()
	if !errors.Is(err, order.ErrUnavailable) || !strings.Contains(err.Error(), s.String()) {
		t.Errorf("%s: got %v, want ErrUnavailable with %s", call, err, s)
	}
	secret(t, err)
}

func secret(t *testing.T, err error) {
	t.Helper()
	if err != nil && strings.Contains(err.Error(), password) {
		t.Errorf("the password is in: %v", err)
	}
}

// unavailableAll fails unless all calls do, without hanging. They are made at the same time.
func unavailableAll(t *testing.T, s *order.Store, id uint64) {
	t.Helper()
	start := time.Now()
	failed := make(map[string]<-chan error)
	for name, call := range map[string]func() error{
		"Ping":       func() error { return s.Ping(context.Background()) },
		"Get":        func() error { _, err := s.Get(context.Background(), id); return err },
		"Create":     func() error { _, err := s.Create(context.Background()); return err },
		"Grab":       func() error { _, err := grabber(testenv.NoLock, id)(s, 1); return err },
		"GrabAtomic": func() error { _, err := grabAtomic(id)(s, 1); return err },
	} {
		result := make(chan error, 1)
		failed[name] = result
		go func() { result <- call() }()
	}
	for name, result := range failed {
		unavailable(t, s, name, <-result)
	}
	if took := time.Since(start); took > never {
		t.Errorf("it took %s", took)
	}
}

func testClosed(t *testing.T, database fresh) {
	s := open(t, database(t), 0)
	id := create(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	unavailableAll(t, s, id)
}

func TestMariaDBThatGoesAway(t *testing.T) {
	t.Parallel() // it mostly waits
	server := mariaDB(t)
	database := createIn(t, server)
	s := open(t, database, 0)
	id := create(t, s)
	if name := s.String(); !strings.Contains(name, server.Addr) || strings.Contains(name, password) {
		t.Errorf("its name is %s", name)
	}
	deniedOpening(t, strings.Replace(database, "lab:", "lab:not", 1))

	testenv.Pause(t, server)
	unavailableAll(t, s, id)
	if err := left(t, s, id); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, order.ErrUnavailable) {
		t.Errorf("got %v: it is the caller that left", err)
	}
	notOpened(t, database, "mysql "+server.Addr)

	server.Resume()
	testenv.Eventually(t, "it answers again", func() bool { return s.Ping(t.Context()) == nil })
	server.Kill()
	unavailableAll(t, s, id)
	notOpened(t, database, "mysql "+server.Addr)
}

// left is what Get returns to a caller that does not wait long.
func left(t *testing.T, s *order.Store, id uint64) error {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := s.Get(ctx, id)
	return err
}

// deniedOpening fails unless the error says that the server has denied the access. The server must answer before the context ends: on a
// busy machine that may take longer.
func deniedOpening(t *testing.T, database string) {
	t.Helper()
	var err error
	for _, within := range []time.Duration{time.Second, 5 * time.Second, 20 * time.Second} {
		if err = opening(t, database, within); err == nil || strings.Contains(err.Error(), "Access denied") {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "Access denied") {
		t.Errorf("got %v, want an error with %q", err, "Access denied")
	}
}

// notOpened fails unless OpenStore stops soon after its context, with an error that has want. Nothing has to answer in that time.
func notOpened(t *testing.T, database, want string) {
	t.Helper()
	start := time.Now()
	err := opening(t, database, 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want an error with %q", err, want)
	}
	if took := time.Since(start); took > 4500*time.Millisecond { // a single call's bound is five
		t.Errorf("it took %s", took)
	}
}

// opening is the error of OpenStore, which has so much time.
func opening(t *testing.T, database string, within time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	s, err := order.OpenStore(ctx, order.Config{Database: database})
	if err == nil {
		_ = s.Close()
	}
	secret(t, err)
	return err
}

// writer begins to write in a file of SQLite, as another process does, until end.
func writer(t *testing.T, where string) (end func()) {
	t.Helper()
	db, err := sql.Open("sqlite", strings.TrimPrefix(where, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	other, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	execute := func(statement string) {
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Error(err)
		}
	}
	execute("BEGIN IMMEDIATE")
	return func() { execute("ROLLBACK"); _ = other.Close() }
}

// No request exceeds its bound while another process writes, whatever uses the database. The error says so.
func TestAWriterOfAnotherProcess(t *testing.T) {
	t.Parallel()
	where := sqlite(t)
	i := newInstance(t, where)
	const bound, sqlites = 500 * time.Millisecond, 5 * time.Second // the second is the usual wait of SQLite itself
	lock, err := lockstrategy.NewDatabase(i.orders.DB(), "", lockstrategy.Timing{Request: bound})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	calls := map[string]func(context.Context) error{
		"order": func(ctx context.Context) error { _, err := i.orders.Create(ctx); return err },
		"shop":  func(ctx context.Context) error { return i.goods.Stock(ctx, 1, 100) },
		"cache": func(ctx context.Context) error { _, err := i.items.Put(ctx, 1, "text"); return err },
		"lock": func(context.Context) error { // its own bound is that of a request
			return lockstrategy.Guard{Strategy: lock}.Do(t.Context(), "k", func(context.Context, uint64) error { return nil })
		},
	}
	end := writer(t, where)
	for name, call := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		start := time.Now()
		err := call(ctx)
		cancel()
		if took := time.Since(start); took >= sqlites {
			t.Errorf("%s: it took %s, and a request has %s", name, took, bound)
		}
		if !strings.Contains(fmt.Sprint(err), "another connection to the database is writing") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	end()
	for name, call := range calls {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s after the end of the other writer: %v", name, err)
		}
	}
}

// A writer of another process that does not let go.
func TestSQLiteThatIsLocked(t *testing.T) {
	t.Parallel() // it mostly waits
	testenv.Slow(t)
	where := sqlite(t)
	s := open(t, where, 0)
	id := create(t, s)
	end := writer(t, where)
	start := time.Now()
	_, err := grabAtomic(id)(s, 1)
	unavailable(t, s, "GrabAtomic", err)
	if took := time.Since(start); took > never {
		t.Errorf("it took %s", took)
	}
	end()
	if result, err := grabAtomic(id)(s, 2); err != nil || !result.Won {
		t.Errorf("after the lock's end: %+v, %v", result, err)
	}
}

// A file that is no database is an error that says so. No later try would open it.
func TestAFileThatIsNoDatabase(t *testing.T) {
	where := sqlite(t)
	if err := os.WriteFile(strings.TrimPrefix(where, "sqlite:"), []byte(strings.Repeat("text\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := opening(t, where, never); err == nil || !strings.Contains(err.Error(), "is no SQLite database") {
		t.Errorf("got %v", err)
	}
}

// SQLite takes URIs, in which these characters mean something else.
func TestSQLitePaths(t *testing.T) {
	for _, name := range []string{
		"orders.db", "with space.db", "what?.db", "a?mode=memory", "100%.db", "50%20.db", "#1.db", "a&b=c;d+e.db", "é.db", "file:a.db",
	} {
		for _, prefix := range []string{"", "/"} { // a path may begin with two slashes, a URI's host follows them
			dir := t.TempDir()
			s := open(t, "sqlite:"+prefix+filepath.Join(dir, name), 0)
			create(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 || entries[0].Name() != name {
				t.Errorf("for %q there is %v (%v)", name, entries, err)
			}
		}
	}
}
