package order_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"locklab/internal/testenv"
	"locklab/stack"
)

// mariaServer is one MariaDB server.
type mariaServer struct {
	*stack.Worker
	Addr string // host:port
	DSN  string // of go-sql-driver/mysql, for the database locklab
}

// mariaPrograms must be on the PATH: the second makes the directory that the first serves.
var mariaPrograms = []string{"mariadbd", "mariadb-install-db"}

// startMariaDB starts a MariaDB server that ends with s, with an empty database and no password, and waits until it answers.
func startMariaDB(ctx context.Context, s *stack.Stack) (server *mariaServer, err error) {
	for _, program := range mariaPrograms {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("mariadb: %w (Debian: mariadb-server, macOS: mariadb)", err)
		}
	}
	dir := filepath.Join(s.Dir(), "mariadb")
	// Temporary tables are beside the data. In the shared directory, a server that starts removes the tables of the others.
	temp := filepath.Join(s.Dir(), "mariadb-temp")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(temp, 0o700)); err != nil {
		return nil, err
	}
	settings := []string{ // of the installation and of the server. --no-defaults must come first.
		"--no-defaults", "--datadir=" + dir, "--tmpdir=" + temp, "--skip-name-resolve", "--skip-log-bin", "--innodb-log-file-size=8M",
		"--innodb-flush-log-at-trx-commit=0",
	}
	if os.Geteuid() == 0 { // mariadbd refuses to run as root without this
		settings = append(settings, "--user=root")
	}
	if err := installMariaDB(ctx, s, settings); err != nil {
		return nil, err
	}
	for range 5 { // the port may be taken by the time the server opens it
		server, err = serveMariaDB(ctx, s, dir, settings)
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "address already in use") {
			break
		}
	}
	return server, err
}

// installMariaDB writes the system tables, in a second or two. It waits for the end even when ctx ends. The program is a shell script. The
// server that it runs would outlive it for a moment, and write into a directory that is being removed.
func installMariaDB(ctx context.Context, s *stack.Stack, settings []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	argv := slices.Concat([]string{"mariadb-install-db"}, settings, []string{"--auth-root-authentication-method=normal", "--skip-test-db"})
	p, err := program(s, "mariadb-install", argv)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		p.Kill()
	}
	if code := p.ExitCode(); code != 0 {
		return fmt.Errorf("mariadb-install-db ended with status %d: %s", code, logOf(s, p))
	}
	return ctx.Err()
}

// serveMariaDB starts a server at a free address and waits until it answers. The path of its socket is relative to its directory: Unix
// allows some hundred characters, and the path of a temporary directory may be longer.
func serveMariaDB(ctx context.Context, s *stack.Stack, dir string, settings []string) (*mariaServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l.Close()
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	argv := slices.Concat([]string{"mariadbd"}, settings, []string{"--bind-address=127.0.0.1", "--port=" + port, "--socket=socket"})
	p, err := program(s, "mariadb", argv)
	if err != nil {
		return nil, err
	}
	admin, err := mariaAdmin(addr)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	err = stack.Until(ctx, func(ctx context.Context) error {
		err := createDatabase(ctx, admin, dir)
		select {
		case <-p.Done():
			return stack.Permanent{Err: fmt.Errorf("mariadbd ended before it was ready: %s", logOf(s, p))}
		default:
			return err
		}
	})
	return &mariaServer{p, addr, "root@tcp(" + addr + ")/locklab"}, err
}

// program starts a program that gets no input. What it writes to its standard output is dropped.
func program(s *stack.Stack, name string, argv []string) (*stack.Worker, error) {
	p, err := s.Program(name, argv...)
	if err != nil {
		return nil, err
	}
	_ = p.In.Close()
	go func() {
		_, _ = io.Copy(io.Discard, p.Out)
		_ = p.Out.Close()
	}()
	return p, nil
}

// logOf is what a program wrote to its standard error.
func logOf(s *stack.Stack, p *stack.Worker) string {
	text, _ := os.ReadFile(filepath.Join(s.Dir(), p.Name+".log"))
	return string(text)
}

// mariaAdmin opens a client that does not log that the server does not answer at first.
func mariaAdmin(addr string) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "tcp", addr
	cfg.Timeout, cfg.ReadTimeout = time.Second, 5*time.Second
	cfg.Logger = new(mysql.NopLogger)
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// createDatabase creates the database in the server that serves dir. Another server may have taken the port, and answers as well: that
// is an error.
func createDatabase(ctx context.Context, admin *sql.DB, dir string) error {
	var served string
	if err := admin.QueryRowContext(ctx, "SELECT @@datadir").Scan(&served); err != nil {
		return err
	}
	theirs, err := os.Stat(served)
	if err != nil {
		return err
	}
	if ours, err := os.Stat(dir); err != nil || !os.SameFile(ours, theirs) {
		return errors.Join(errors.New("another server answers at its port"), err)
	}
	_, err = admin.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS locklab")
	return err
}

func listens(addr string) bool {
	connection, err := net.Dial("tcp", addr)
	if err == nil {
		connection.Close()
	}
	return err == nil
}

func TestMariaDBServesItsOwnDirectory(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	s := testenv.Stack(t)
	d, err := startMariaDB(testenv.Context(t), s)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", d.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"CREATE TABLE t (n INT) ENGINE=InnoDB", "INSERT INTO t VALUES (42)"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	var name, dir string
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT DATABASE(), @@datadir, n FROM t").Scan(&name, &dir, &n); err != nil {
		t.Fatal(err)
	}
	if name != "locklab" || n != 42 || !strings.HasPrefix(dir, s.Dir()) {
		t.Errorf("database %q in %s holds %d", name, dir, n)
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
	mariaDB(t)
}

// Paused or not, it must go when its stack does, and leave nothing.
func TestMariaDBEndsWithItsStack(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	s, err := stack.New()
	if err != nil {
		t.Fatal(err)
	}
	d, err := startMariaDB(testenv.Context(t), s)
	if err != nil {
		t.Fatal(errors.Join(err, s.Close()))
	}
	testenv.Pause(t, d)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left := commandLinesWith(t, s.Dir()); len(left) > 0 || listens(d.Addr) {
		t.Errorf("it is still there: %q", left)
	}
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("its directory: %v", err)
	}
}

// The installation runs programs of its own; none may be left to write where nothing should be.
func TestMariaDBThatTimesOutLeavesNothing(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	for _, timeout := range []time.Duration{0, 200 * time.Millisecond, 600 * time.Millisecond} {
		s, err := stack.New()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		_, err = startMariaDB(ctx, s)
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
	t.Setenv("PATH", t.TempDir())
	_, err := startMariaDB(t.Context(), testenv.Stack(t))
	if err == nil || !strings.Contains(err.Error(), "mariadbd") || !strings.Contains(err.Error(), "mariadb-server") {
		t.Fatalf("got %v, want an error that names the program and the package", err)
	}
}
