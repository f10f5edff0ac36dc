package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/internal/database"
	"locklab/lockstrategy"
	"locklab/lockstrategy/sqllock"
)

// lockSQLite takes the write lock of a SQLite file, as another process would, until unlock is called.
func lockSQLite(t *testing.T, where string) (unlock func()) {
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
	run := func(statement string) {
		if _, err := other.ExecContext(t.Context(), statement); err != nil {
			t.Error(err)
		}
	}
	run("BEGIN IMMEDIATE")
	return func() { run("ROLLBACK"); _ = other.Close() }
}

// No call exceeds its timeout while another process holds the write lock, whatever uses the database, and the error says why.
func TestSQLiteWriteLockTimeout(t *testing.T) {
	t.Parallel()
	where := sqlite(t)
	i := newInstance(t, where)
	const timeout, busyTimeout = 300 * time.Millisecond, 5 * time.Second // the second is the usual busy_timeout of SQLite
	lock, err := sqllock.New(i.orders.DB, "", lockstrategy.Timing{Request: timeout})
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	calls := map[string]func(context.Context) error{
		"order": func(ctx context.Context) error { _, err := i.orders.Create(ctx); return err },
		"shop":  func(ctx context.Context) error { return i.shop.Stock(ctx, 1, 100) },
		"cache": func(ctx context.Context) error { _, err := i.items.Put(ctx, 1, "text"); return err },
		"lock": func(context.Context) error { // its timeout is that of a request
			return lockstrategy.Guard{Strategy: lock}.Do(t.Context(), "k", func(context.Context, uint64) error { return nil })
		},
	}
	unlock := lockSQLite(t, where)
	var waiting sync.WaitGroup
	for name, call := range calls {
		waiting.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			start := time.Now()
			err := call(ctx)
			if took := time.Since(start); took >= busyTimeout {
				t.Errorf("%s: took %s, want %s", name, took, timeout)
			}
			if !strings.Contains(fmt.Sprint(err), "another connection to the database is writing") {
				t.Errorf("%s: got %v", name, err)
			}
		})
	}
	waiting.Wait()
	unlock()
	for name, call := range calls {
		if err := call(t.Context()); err != nil {
			t.Errorf("%s after the unlock: %v", name, err)
		}
	}
}

// Open must not retry until the context ends.
func TestNotASQLiteFile(t *testing.T) {
	where := sqlite(t)
	if err := os.WriteFile(strings.TrimPrefix(where, "sqlite:"), []byte(strings.Repeat("text\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), maxCallTime)
	defer cancel()
	if _, err := database.Open(ctx, where); err == nil || !strings.Contains(err.Error(), "not a SQLite database") {
		t.Errorf("got %v", err)
	}
}

// The driver takes URIs, in which these characters have a special meaning.
func TestSQLitePaths(t *testing.T) {
	for _, name := range []string{
		"orders.db", "with space.db", "what?.db", "a?mode=memory", "100%.db", "50%20.db", "#1.db", "a&b=c;d+e.db", "é.db", "file:a.db",
	} {
		for _, prefix := range []string{"", "/"} { // a path may begin with two slashes, but in a URI a host would follow them
			dir := t.TempDir()
			db, err := database.Open(t.Context(), "sqlite:"+prefix+filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(db.DB.Exec("CREATE TABLE things (id INT)").Error, db.Close()); err != nil {
				t.Error(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 || entries[0].Name() != name {
				t.Errorf("the path %q created %v (%v)", name, entries, err)
			}
		}
	}
}
