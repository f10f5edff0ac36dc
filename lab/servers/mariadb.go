package servers

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// DatabaseName is the database for the orders.
const DatabaseName = "locklab"

// installTimeout is long, because an installation takes seconds: it ends one on a disk that hangs.
const installTimeout = time.Minute

// Database is one MariaDB server.
type Database struct {
	Restartable
	DSN string // of go-sql-driver/mysql, for the database [DatabaseName]
}

// MariaDBServer is the program of MariaDB, and the one that makes the directory that it serves.
var MariaDBServer = Program{Name: "mariadbd", Debian: "mariadb-server", Homebrew: "mariadb", find: func() error {
	_, missing := exec.LookPath("mariadbd")
	_, err := exec.LookPath("mariadb-install-db")
	return cmp.Or(missing, err)
}}

func startDatabase(ctx context.Context, s *Stack, _ int, real bool) (Servers, error) {
	if !real || MariaDBServer.Missing() != nil {
		return Servers{Addrs: []string{s.SQLite()}}, nil
	}
	d, err := s.MariaDB(ctx)
	if err != nil {
		return Servers{}, err
	}
	all := serversOf(d)
	all.Addrs = []string{"mysql:" + d.DSN}
	return all, nil
}

// SQLite is the database in a file of the stack's directory, as the flag of app serve has it.
func (s *Stack) SQLite() string { return "sqlite:" + filepath.Join(s.dir, "orders.db") }

// MariaDB starts the stack's MariaDB server, with an empty database and no password, and waits until
// it answers. A crash may lose what was written in the second before it. settings are additional ones ("--log-bin=binlog", …).
func (s *Stack) MariaDB(ctx context.Context, settings ...string) (*Database, error) {
	if err := MariaDBServer.Missing(); err != nil {
		return nil, err
	}
	dir, err := s.workdir("mariadb")
	if err != nil {
		return nil, err
	}
	if _, err := s.workdir(mariaTemp); err != nil {
		return nil, err
	}
	if err := s.systemTables(ctx, dir); err != nil {
		return nil, fmt.Errorf("mariadb: %w", err)
	}
	d := &Database{Restartable: Restartable{Name: "mariadb"}}
	// The path of its socket is relative to its directory: Unix allows some hundred characters, and the path of a temporary directory may
	// be longer.
	d.start = func() (*Process, error) {
		argv := slices.Concat([]string{"mariadbd"}, mariaSettings(dir), settings, []string{
			"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", portOf(d.Addr)), "--socket=socket",
		})
		return s.start(command{name: d.Name, argv: argv, env: mariaEnv(dir)})
	}
	d.ready = func(ctx context.Context) (string, error) { return "", createIn(ctx, d.Addr, dir) }
	err = s.startAtFreeAddr(ctx, &d.Restartable)
	if err != nil && d.Server != nil {
		d.Kill() // mariadbd may miss a SIGTERM while it starts
	}
	d.DSN = "root@tcp(" + d.Addr + ")/" + DatabaseName
	return d, err
}

// installed is the directory with MariaDB's system tables that the first server of this program has left for the next ones. The reaper
// removes it. It is gone earlier if somebody empties the directory for temporary files.
var installed struct {
	sync.Mutex
	dir string
}

// systemTables fills the directory of a server: with a copy, because an installation takes a second.
func (s *Stack) systemTables(ctx context.Context, dir string) error {
	installed.Lock()
	defer installed.Unlock()
	if _, err := os.Stat(installed.dir); err == nil {
		return os.CopyFS(dir, os.DirFS(installed.dir))
	}
	if err := s.installMariaDB(ctx, dir); err != nil {
		return err
	}
	kept, err := os.MkdirTemp("", "locklab-mariadb-")
	if err != nil {
		return err
	}
	if err := errors.Join(reapAtEnd(kept), os.CopyFS(kept, os.DirFS(dir))); err != nil {
		return errors.Join(err, os.RemoveAll(kept))
	}
	installed.dir = kept
	return nil
}

// installMariaDB writes the system tables, in a second or two. It waits for the end even when ctx ends. The program is a shell
// script. The server that it runs would outlive it for a moment, and write into a directory that is being removed. The script splits
// paths at their spaces, so it gets them relative to its own directory.
func (s *Stack) installMariaDB(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	argv := append([]string{"sh", "-c", `cd "$0" && exec mariadb-install-db "$@"`, s.dir}, mariaSettings("./"+filepath.Base(dir))...)
	argv = append(argv, "--auth-root-authentication-method=normal", "--skip-test-db")
	p, err := s.start(command{name: "mariadb-install", argv: argv, env: mariaEnv(dir)})
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-time.After(installTimeout):
		p.Kill()
		return fmt.Errorf("mariadb-install-db did not end within %s: %s", installTimeout, p.lastOutput())
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("mariadb-install-db ended with %s: %s", p.Status(), p.lastOutput())
	}
	return ctx.Err()
}

// mariaTemp is the directory for temporary tables, beside the data. In the shared one, a server that starts removes the tables of the
// others, and an installation fails.
const mariaTemp = "mariadb-temp"

// mariaSettings are the settings of the installation and of the server. --no-defaults must come first.
func mariaSettings(dir string) []string {
	settings := []string{
		"--no-defaults", "--datadir=" + dir, "--skip-name-resolve", "--skip-log-bin",
		"--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0",
	}
	if os.Geteuid() == 0 { // mariadbd refuses to run as root without this
		settings = append(settings, "--user=root")
	}
	return settings
}

// mariaEnv names the directory for temporary tables.
func mariaEnv(dir string) []string {
	return append(os.Environ(), "TMPDIR="+filepath.Join(filepath.Dir(dir), mariaTemp))
}

// mariaAdmin opens a client for the stack's own requests to its server. It does not log that the server does not answer at first.
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

// createIn creates the database in the server at addr that serves dir. Another server may have taken the port, and answers as well:
// that is an error.
func createIn(ctx context.Context, addr, dir string) error {
	admin, err := mariaAdmin(addr)
	if err != nil {
		return err
	}
	defer admin.Close()
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

// questionsOfMariaDB asks the server at a URL of app serve.
func questionsOfMariaDB(ctx context.Context, url string) (n int64, err error) {
	db, err := sql.Open("mysql", strings.TrimPrefix(url, "mysql:"))
	if err != nil {
		return 0, err
	}
	defer db.Close()
	var name string
	err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n)
	return n, err
}
