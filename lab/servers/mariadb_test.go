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

func mariaDB(t *testing.T) (*servers.Stack, *servers.Database) {
	t.Helper()
	testenv.Needs(t, testenv.MariaDB)
	s := testenv.Stack(t)
	d, err := s.MariaDB(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return s, d
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

// After a crash the server answers at the same address, and has what it had written to the disk.
func TestMariaDBRestarts(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	d, err := testenv.Stack(t).MariaDB(testenv.Context(t), "--innodb-flush-log-at-trx-commit=1")
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"CREATE TABLE t (n INT) ENGINE=InnoDB", "INSERT INTO t VALUES (42)"} {
		if _, err := connect(t, d).ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	before, n := d.PID(), 0
	if proof, err := d.Restart(testenv.Context(t)); err != nil || !strings.Contains(proof, d.Addr) {
		t.Fatal(proof, err)
	}
	if err := connect(t, d).QueryRowContext(t.Context(), "SELECT n FROM t").Scan(&n); err != nil || n != 42 || d.PID() == before {
		t.Errorf("process %d, then %d, has %d (%v)", before, d.PID(), n, err)
	}
}

func TestMariaDBServesItsOwnDirectory(t *testing.T) {
	t.Parallel()
	s, d := mariaDB(t)
	db := connect(t, d)
	var name, dir string
	if err := db.QueryRowContext(t.Context(), "SELECT DATABASE(), @@datadir").Scan(&name, &dir); err != nil {
		t.Fatal(err)
	}
	if name != servers.DatabaseName || !strings.HasPrefix(dir, s.Dir()) {
		t.Errorf("database %q in %s", name, dir)
	}
	d.Kill()
	if err := db.PingContext(t.Context()); err == nil || listens(d.Addr) {
		t.Errorf("it was killed and still answers (%v)", err)
	}
}

// The path of a stack's directory may be longer than the path of a socket can be.
func TestMariaDBInADeepDirectory(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", deep)
	_, d := mariaDB(t)
	if err := connect(t, d).PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The installation runs programs of its own; none may be left to write where nothing should be.
func TestMariaDBThatTimesOutLeavesNothing(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	for _, timeout := range []time.Duration{0, 200 * time.Millisecond, 600 * time.Millisecond} {
		s, err := servers.New()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		_, err = s.MariaDB(ctx)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) && timeout < 500*time.Millisecond {
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

func TestMariaDBThatIsMissingIsNamed(t *testing.T) {
	s := testenv.Stack(t)
	t.Setenv("PATH", t.TempDir())
	_, err := s.MariaDB(t.Context())
	if err == nil || !strings.Contains(err.Error(), "mariadbd") || !strings.Contains(err.Error(), "mariadb-server") {
		t.Fatalf("got %v, want an error that names the program and the package", err)
	}
}
