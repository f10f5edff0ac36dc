package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-sql-driver/mysql"
)

// DatabaseName is the database for the orders.
const DatabaseName = "locklab"

// installTimeout is long, because an installation takes seconds: it ends one on a disk that hangs.
const installTimeout = time.Minute

// Database is one MariaDB server.
type Database struct {
	*Process        // what runs it now: Restart replaces it
	Addr     string // host:port
	DSN      string // of go-sql-driver/mysql, for the database [DatabaseName]

	again func(context.Context) (*Database, error)
}

// mariaPrograms must be on the PATH: the second makes the directory that the first serves.
var mariaPrograms = []string{"mariadbd", "mariadb-install-db"}

// MissingMariaDB says which program of MariaDB is not on the PATH, and its package; nil: none.
func MissingMariaDB() error {
	for _, program := range mariaPrograms {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("stack: mariadb: %w (Debian: apt-get install mariadb-server, macOS: brew install mariadb)", err)
		}
	}
	return nil
}

// MariaDB starts the stack's MariaDB server, with an empty database and no password, and waits until
// it answers. A crash may lose what was written in the second before it. settings are additional ones ("--log-bin=binlog", …).
func (s *Stack) MariaDB(ctx context.Context, settings ...string) (d *Database, err error) {
	if err := MissingMariaDB(); err != nil {
		return nil, err
	}
	dir, err := s.workdir("mariadb")
	if err != nil {
		return nil, err
	}
	if _, err := s.workdir(mariaTemp); err != nil {
		return nil, err
	}
	err = s.installMariaDB(ctx, dir)
	if err == nil {
		err = atFreeAddr(func(addr string) (err error) {
			d, err = s.startMariaDB(ctx, dir, addr, settings)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("stack: mariadb: %w", err)
	}
	d.again = func(ctx context.Context) (*Database, error) { return s.startMariaDB(ctx, dir, d.Addr, settings) }
	return d, nil
}

// Restart kills the server, unless it has ended, and starts it again at its address, with its files.
func (d *Database) Restart(ctx context.Context) (proof string, err error) {
	d.Kill()
	before, err := d.Ended()
	if err != nil {
		return "", err
	}
	started, err := d.again(ctx)
	if err != nil {
		return "", err
	}
	d.Process = started.Process
	return fmt.Sprintf("%s; process %d answers at %s", before, d.PID(), d.Addr), nil
}

// installMariaDB writes the system tables, in a second or two. It waits for the end even when ctx ends. The program is a shell
// script. The server that it runs would outlive it for a moment, and write into a directory that is being removed.
func (s *Stack) installMariaDB(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	argv := append([]string{"mariadb-install-db"}, mariaSettings(dir)...)
	p, err := s.start(command{name: "mariadb-install", argv: append(argv, "--auth-root-authentication-method=normal", "--skip-test-db")})
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-time.After(installTimeout):
		p.Kill()
		return fmt.Errorf("mariadb-install-db did not end within %s: %s", installTimeout, p.lastOutput())
	}
	if code := p.ExitCode(); code != 0 {
		return fmt.Errorf("mariadb-install-db ended with status %d: %s", code, p.lastOutput())
	}
	return ctx.Err()
}

// mariaTemp is the directory for temporary tables, beside the data. In the shared one, a server that starts removes the tables of the
// others, and an installation fails.
const mariaTemp = "mariadb-temp"

// mariaSettings are the settings of the installation and of the server. --no-defaults must come first.
func mariaSettings(dir string) []string {
	settings := []string{
		"--no-defaults", "--datadir=" + dir, "--tmpdir=" + filepath.Join(filepath.Dir(dir), mariaTemp), "--skip-name-resolve", "--skip-log-bin",
		"--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0",
	}
	if os.Geteuid() == 0 { // mariadbd refuses to run as root without this
		settings = append(settings, "--user=root")
	}
	return settings
}

// startMariaDB starts a server at addr and waits until it answers. The path of its socket is relative to its directory: Unix allows
// some hundred characters, and the path of a temporary directory may be longer.
func (s *Stack) startMariaDB(ctx context.Context, dir, addr string, settings []string) (*Database, error) {
	argv := append(append([]string{"mariadbd"}, mariaSettings(dir)...), settings...)
	argv = append(argv, "--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", portOf(addr)), "--socket=socket")
	p, err := s.start(command{name: "mariadb", argv: argv})
	if err != nil {
		return nil, err
	}
	admin, err := mariaAdmin(addr)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	err = await(ctx, p, func(ctx context.Context) error { return createIn(ctx, admin, dir) })
	if err != nil {
		return nil, err
	}
	return &Database{Process: p, Addr: addr, DSN: "root@tcp(" + addr + ")/" + DatabaseName}, nil
}

// mariaAdmin opens a client for the stack's own requests to its server. It does not log that the server does not answer at first.
func mariaAdmin(addr string) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "tcp", addr
	cfg.Timeout, cfg.ReadTimeout = time.Second, 5*time.Second
	cfg.Logger = new(mysql.NopLogger)
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("stack: %w", err)
	}
	return sql.OpenDB(connector), nil
}

// createIn creates the database in the server that serves dir. Another server may have taken the port, and answers as well: that
// is an error.
func createIn(ctx context.Context, admin *sql.DB, dir string) error {
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
	_, err = admin.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+DatabaseName)
	return err
}
