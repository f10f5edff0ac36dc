//go:build unix

package servers_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"

	"locklab/lab/servers"
	"locklab/lab/testenv"
)

func mariaDB(t *testing.T, settings ...string) *servers.Database {
	t.Helper()
	testenv.Needs(t, testenv.MariaDB)
	d, err := testenv.Stack(t).MariaDB(testenv.Context(t), settings...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func connect(t *testing.T, d *servers.Database) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// After a crash the server answers at the same address, and has what it had written to the disk. The path of a stack's directory may be
// longer than the path of a socket can be, and have spaces.
func TestMariaDBRestarts(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("a deep/", 20))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", deep)
	d := mariaDB(t, "--innodb-flush-log-at-trx-commit=1")
	for _, statement := range []string{"CREATE TABLE t (n INT) ENGINE=InnoDB", "INSERT INTO t VALUES (42)"} {
		if _, err := connect(t, d).ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	before, n, dir, temp := d.PID(), 0, "", ""
	if proof, err := d.Restart(testenv.Context(t)); err != nil || !strings.Contains(proof, d.Addr) {
		t.Fatal(proof, err)
	}
	err := connect(t, d).QueryRowContext(t.Context(), "SELECT n, @@datadir, @@tmpdir FROM t").Scan(&n, &dir, &temp)
	if err != nil || n != 42 || d.PID() == before || !strings.HasPrefix(dir, deep) || !strings.HasPrefix(temp, deep) {
		t.Errorf("process %d, then %d, has %d in %s and %s (%v)", before, d.PID(), n, dir, temp, err)
	}
}

// The installation runs programs of its own; none may be left to write where nothing should be.
func TestMariaDBThatTimesOutLeavesNothing(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	for _, timeout := range []time.Duration{0, 300 * time.Millisecond} {
		s, err := servers.New()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		_, err = s.MariaDB(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) && timeout == 0 {
			t.Errorf("stopped after %s: got %v, want context.DeadlineExceeded", timeout, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left := commandLinesWith(t, s.Dir()); len(left) > 0 {
			t.Errorf("stopped after %s: still there: %q", timeout, left)
		}
	}
}

// commandLinesWith are those of the processes on this machine that mention text.
func commandLinesWith(t *testing.T, text string) []string {
	t.Helper()
	testenv.Needs(t, testenv.Ps)
	out, err := exec.Command("ps", "-A", "-o", "args").Output()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool { return !strings.Contains(line, text) })
}
