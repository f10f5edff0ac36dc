package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// DatabaseName is the database that is there for the orders.
const DatabaseName = "locklab"

// installBound is generous: it is for a disk that hangs.
const installBound = time.Minute

// Database is one MariaDB server.
type Database struct {
	*Process
	Addr string // host:port
	DSN  string // of go-sql-driver/mysql, for the database [DatabaseName]
}

// mariaPrograms are what MariaDB needs on the PATH: the second makes the directory the first serves.
var mariaPrograms = []string{"mariadbd", "mariadb-install-db"}

// MariaDB starts the stack's MariaDB server, with an empty database and no password, and waits until
// it answers. What was written in the last second may not survive its crash.
func (s *Stack) MariaDB(ctx context.Context) (*Database, error) {
	for _, program := range mariaPrograms {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("stack: mariadb: %w (Debian: mariadb-server, macOS: mariadb)", err)
		}
	}
	dir, err := s.workdir("mariadb")
	if err != nil {
		return nil, err
	}
	if _, err := s.workdir(mariaTemp); err != nil {
		return nil, err
	}
	if err := s.installMariaDB(ctx, dir); err != nil {
		return nil, fmt.Errorf("stack: mariadb: %w", err)
	}
	for try := 1; ; try++ {
		d, err := s.startMariaDB(ctx, dir)
		if err == nil {
			return d, nil
		}
		if try == tries || !strings.Contains(strings.ToLower(err.Error()), "address already in use") {
			return nil, fmt.Errorf("stack: mariadb: %w", err)
		}
	}
}

// installMariaDB writes the system tables, in a second or two. It is waited for even when ctx ends:
// the program is a shell script, and the server that it runs would outlive it for a moment and
// write into a directory that is being removed.
func (s *Stack) installMariaDB(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	argv := append([]string{"mariadb-install-db"}, mariaSettings(dir)...)
	p, err := s.start("mariadb-install", os.Environ(), append(argv, "--auth-root-authentication-method=normal", "--skip-test-db")...)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-time.After(installBound):
		p.Kill()
		return fmt.Errorf("mariadb-install-db did not end within %s: %s", installBound, p.tail())
	}
	if code := p.ExitCode(); code != 0 {
		return fmt.Errorf("mariadb-install-db ended with status %d: %s", code, p.tail())
	}
	return ctx.Err()
}

// mariaTemp is for temporary tables, beside the data. In the one that all servers share, each that starts removes those of
// the others, and an installation fails.
const mariaTemp = "mariadb-temp"

// mariaSettings are those of the installation and the server. --no-defaults must come first.
func mariaSettings(dir string) []string {
	settings := []string{
		"--no-defaults", "--datadir=" + dir, "--tmpdir=" + filepath.Join(filepath.Dir(dir), mariaTemp), "--skip-name-resolve", "--skip-log-bin",
		"--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0",
	}
	if os.Geteuid() == 0 { // it refuses to run as root unless it is told to
		settings = append(settings, "--user=root")
	}
	return settings
}

// startMariaDB starts a server at a free address and waits until it answers. Its socket's path is
// relative to its directory, because Unix allows some hundred characters and temporary directories
// may be longer.
func (s *Stack) startMariaDB(ctx context.Context, dir string) (*Database, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	argv := append([]string{"mariadbd"}, mariaSettings(dir)...)
	argv = append(argv, "--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", portOf(addr)), "--socket=socket")
	p, err := s.start("mariadb", os.Environ(), argv...)
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
	return &Database{p, addr, "root@tcp(" + addr + ")/" + DatabaseName}, nil
}

// mariaAdmin is for the stack's own questions to its server, which is not there at first: the
// driver need not log that.
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

// createIn creates the database, unless the server that answers is another that took the port.
func createIn(ctx context.Context, admin *sql.DB, dir string) error {
	var serves string
	if err := admin.QueryRowContext(ctx, "SELECT @@datadir").Scan(&serves); err != nil {
		return err
	}
	theirs, err := os.Stat(serves)
	if err != nil {
		return err
	}
	if ours, err := os.Stat(dir); err != nil || !os.SameFile(ours, theirs) {
		return errors.Join(errors.New("another server answers at its port"), err)
	}
	_, err = admin.ExecContext(ctx, "CREATE DATABASE IF NOT EXISTS "+DatabaseName)
	return err
}
