package order

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/glebarez/sqlite"
	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"locklab/internal/reach"
	"locklab/internal/tables"
)

// Most connections that a store opens; a call waits for a free one within its bound. SQLite has one writer at a time, and more
// connections that wait for it slow it down. MySQL and MariaDB accept 151 by default: enough for two instances.
const (
	sqliteConnections = 8
	mysqlConnections  = 64
)

// Config says where the orders are kept.
type Config struct {
	// Database is "sqlite:PATH" or "mysql:DSN", the DSN as go-sql-driver/mysql has it. The DSN does not choose how times are stored: in UTC.
	// It does not choose the settings of a session either that the statements rely on: autocommit, sql_mode, and others in mysql.go.
	Database string
}

// Validate says what is wrong with a configuration, without opening anything. The error shows no password.
func (c Config) Validate() error {
	_, err := c.source()
	return err
}

// OpenStore opens the database, and creates its tables when they are missing. It tries until ctx
// ends; the error names the database and what the last try that ended by itself said.
func OpenStore(ctx context.Context, cfg Config) (*Store, error) {
	from, err := cfg.source()
	if err != nil {
		return nil, err
	}
	s := &Store{name: from.name}
	err = reach.Until(ctx, 100*time.Millisecond, func(ctx context.Context) (err error) {
		s.tables = tables.Of(&Order{}, &Win{})
		s.db, err = from.open(ctx, s.tables)
		return err
	}, hopeless)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", from.name, err)
	}
	return s, nil
}

// hopeless returns an error that the next try will have, too, with what to do about it; nil: the next try is worth it.
func hopeless(err error) error {
	if errors.Is(err, tables.ErrCharset) {
		return err
	}
	for text, why := range map[string]string{ // of a file of SQLite
		"file is not a database":           "the file is no SQLite database: name another one, or remove it",
		"database disk image is malformed": "the file is corrupt: name another one, or remove it",
		"attempt to write a readonly":      "this user may not write it: give it the right, or name another file",
		"unable to open database file":     "it is a folder, or this user may not write there: name another file",
	} {
		if strings.Contains(err.Error(), text) {
			return fmt.Errorf("%s: %w", why, err)
		}
	}
	return nil
}

// source is where a database is.
type source struct {
	name        string // shows no password
	dsn         string // of the driver
	pool        func(dsn string) (*sql.DB, error)
	connections int // at most
	dialect     func(gorm.ConnPool) gorm.Dialector
}

// source returns where the configured database is.
func (c Config) source() (source, error) {
	from, err := c.parse()
	if err != nil {
		return from, fmt.Errorf("%q: %w", withoutPassword(c.Database), err)
	}
	return from, nil
}

func (c Config) parse() (source, error) {
	kind, where, _ := strings.Cut(c.Database, ":")
	switch {
	case kind == "sqlite" && where == ":memory:":
		return source{}, fmt.Errorf("SQLite in memory would be another database for every connection: keep it in a file")
	case kind == "sqlite" && where != "":
		if dir, err := os.Stat(filepath.Dir(where)); err != nil || !dir.IsDir() {
			return source{}, fmt.Errorf("there is no directory %s to keep %s in", filepath.Dir(where), filepath.Base(where))
		}
		dialect := func(pool gorm.ConnPool) gorm.Dialector { return &sqlite.Dialector{Conn: pool} }
		return source{c.Database, sqliteURI(where), openSQLite, sqliteConnections, dialect}, nil
	case kind == "mysql" && where != "":
		dsn, err := driver.ParseDSN(where)
		if err != nil {
			return source{}, fmt.Errorf("not a DSN of the form user:password@tcp(host:port)/name?parameter=value: %s", defect(where, err))
		}
		if dsn.Collation != "" && !strings.HasPrefix(dsn.Collation, "utf8mb4_") {
			return source{}, fmt.Errorf("its collation is %s: name one of utf8mb4, or none", dsn.Collation)
		}
		dsn.ParseTime, dsn.Loc = true, time.UTC                       // two instances take a time for the same one
		dsn.ClientFoundRows = true                                    // a row that matches counts, as in SQLite, also when nothing in it changes
		dsn.RejectReadOnly = false                                    // it hides what a read-only server says; see connector
		dsn.InterpolateParams = true                                  // one round trip for a statement; utf8mb4 can be quoted safely
		dsn.Timeout = cmp.Or(dsn.Timeout, tables.CallTimeout)         // to connect
		dsn.ReadTimeout = cmp.Or(dsn.ReadTimeout, tables.CallTimeout) // for what no context bounds
		dialect := func(pool gorm.ConnPool) gorm.Dialector { return mysql.New(mysql.Config{Conn: pool, DSNConfig: dsn}) }
		return source{"mysql " + dsn.Addr + "/" + dsn.DBName, dsn.FormatDSN(), openMySQL, mysqlConnections, dialect}, nil
	}
	return source{}, fmt.Errorf("allowed are sqlite:PATH and mysql:user:password@tcp(host:port)/name")
}

// defect is why the driver refuses a DSN, without what the user wrote: that may be the password. The driver's own texts about the form
// quote nothing. A wrong parameter is named, and its value is not shown.
func defect(dsn string, err error) string {
	if why, ofTheForm := strings.CutPrefix(err.Error(), "invalid DSN: "); ofTheForm {
		return why
	}
	name, parameters, _ := strings.Cut(dsn[strings.LastIndex(dsn, "/")+1:], "?")
	if _, err := url.PathUnescape(name); err != nil {
		return "the name of the database has a % that begins no escape"
	}
	for parameter := range strings.SplitSeq(parameters, "&") {
		if _, err := driver.ParseDSN("tcp(localhost:3306)/?" + parameter); err != nil {
			name, _, _ := strings.Cut(parameter, "=")
			return "the value of " + name + " does not fit" + looksLike(err)
		}
	}
	return "write tcp(host:port) before the slash"
}

// looksLike says what the driver reads, where it cannot read a value.
func looksLike(err error) string {
	switch text := err.Error(); {
	case strings.HasPrefix(text, "time: "):
		return "; a time has a unit, such as 5s"
	case strings.Contains(text, "bool value"):
		return "; it is true or false"
	}
	return ""
}

// open connects and creates the tables. gorm's own first queries have no context: they are sent only after the database has
// answered a ping that has one.
func (f source) open(ctx context.Context, all *tables.Set) (*gorm.DB, error) {
	pool, err := f.pool(f.dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(f.connections)
	pool.SetMaxIdleConns(f.connections) // otherwise a burst connects again and again
	var db *gorm.DB
	if err = pool.PingContext(ctx); err == nil {
		db, err = gorm.Open(f.dialect(pool), &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	}
	if err == nil {
		err = all.Create(db.WithContext(ctx))
	}
	if err != nil {
		_ = pool.Close()
	}
	return db, err
}

func openSQLite(uri string) (*sql.DB, error) { return sql.Open(sqlite.DriverName, uri) }

// sqliteWait is how long SQLite itself waits for another writer. No context ends it, so it is short: [tables.WaitToWrite] repeats it.
const sqliteWait = 20 * time.Millisecond

// sqliteURI sets SQLite up for several processes. Readers run beside one writer (WAL). A transaction takes the write lock at its start: one
// that takes it later fails when another has written meanwhile.
func sqliteURI(path string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.Clean(path)}).EscapedPath()}
	u.RawQuery = url.Values{
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", sqliteWait.Milliseconds()), "journal_mode(WAL)", "synchronous(NORMAL)"},
		"_txlock": {"immediate"},
	}.Encode()
	return u.String()
}

// withoutPassword returns a database setting that may be shown.
func withoutPassword(database string) string {
	kind, rest, given := strings.Cut(database, ":")
	secret := strings.Contains(rest, "@") || strings.HasPrefix(rest, "//") // of a URL
	if !given || kind == "sqlite" || kind != "mysql" && !secret {
		return database
	}
	at := strings.LastIndex(rest, "@tcp(") // in a malformed DSN the password may be anywhere before that, and in a parameter
	if at < 0 || kind != "mysql" {
		return kind + ":***"
	}
	where, _, _ := strings.Cut(rest[at:], "?")
	return kind + ":***" + where
}
