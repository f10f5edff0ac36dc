// Package database opens the databases of the scenarios and of the locks of v5: SQLite, MySQL and MariaDB.
package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// The largest number of connections of a database. A call that finds none free waits, within its timeout. SQLite allows one writer at a
// time, and more connections that wait for it slow it down. MySQL and MariaDB accept 151 by default: enough for two instances.
const (
	maxSQLiteConnections = 8
	maxMySQLConnections  = 64
)

// Database is an open database.
type Database struct {
	DB   *gorm.DB
	Name string // for errors; without the password
}

// Validate checks the URL of a database without opening anything. The error does not include the password.
func Validate(url string) error {
	_, err := newSource(url)
	return err
}

// MySQL returns the DSN with which [Open] connects to MySQL or MariaDB; empty: the URL names no such database.
func MySQL(url string) string {
	if src, err := newSource(url); err == nil && strings.HasPrefix(url, "mysql:") {
		return src.dsn
	}
	return ""
}

// Open opens a database. It retries until the database answers or ctx is done; then the error names the database and contains the error of
// the last attempt that was not cut off.
//
// The URL is "sqlite:PATH" or "mysql:DSN", with a DSN of go-sql-driver/mysql. The server and the DSN keep
// the defaults that the statements rely on: autocommit, a strict sql_mode, InnoDB, utf8mb4.
func Open(ctx context.Context, url string) (*Database, error) {
	src, err := newSource(url)
	if err != nil {
		return nil, err
	}
	d := &Database{Name: src.name}
	err = d.retry(ctx, func(ctx context.Context) (err error) {
		d.DB, err = src.open(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// CreateTables creates missing tables. It retries as [Open] does.
func (d *Database) CreateTables(ctx context.Context, set *tables.Set) error {
	return d.retry(ctx, func(ctx context.Context) error { return set.Create(d.DB.WithContext(ctx)) })
}

func (d *Database) retry(ctx context.Context, try func(context.Context) error) error {
	if err := reach.Until(ctx, 100*time.Millisecond, try, permanentError); err != nil {
		return fmt.Errorf("database %s: %w", d.Name, err)
	}
	return nil
}

// Ping returns an error if the database does not answer.
func (d *Database) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tables.CallTimeout)
	defer cancel()
	return d.DB.WithContext(ctx).Exec("SELECT 1").Error
}

// Close closes the database.
func (d *Database) Close() error {
	pool, err := d.DB.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// String returns the name of the database, without its password.
func (d *Database) String() string { return d.Name }

// permanentError returns err, with what to do about it, if a retry cannot help. It returns nil if a retry may help.
func permanentError(err error) error {
	for text, remedy := range map[string]string{ // errors of SQLite
		"file is not a database":           "the file is not a SQLite database: choose another file, or remove it",
		"database disk image is malformed": "the file is corrupt: choose another file, or remove it",
		"attempt to write a readonly":      "this user may not write to the file: grant the right, or choose another file",
		"unable to open database file":     "the file is a directory, or this user may not write there: choose another file",
	} {
		if strings.Contains(err.Error(), text) {
			return fmt.Errorf("%s: %w", remedy, err)
		}
	}
	return nil
}

// source says how to open a database.
type source struct {
	name           string // for errors; without the password
	dsn            string // for the driver
	openPool       func(dsn string) (*sql.DB, error)
	maxConnections int
	dialect        func(gorm.ConnPool) gorm.Dialector
}

func newSource(url string) (source, error) {
	src, err := parse(url)
	if err != nil {
		return src, fmt.Errorf("%q: %w", withoutPassword(url), err)
	}
	return src, nil
}

func parse(url string) (source, error) {
	kind, location, _ := strings.Cut(url, ":")
	switch {
	case kind == "sqlite" && location == ":memory:":
		return source{}, errors.New("sqlite::memory: gives every connection its own database; name a file, such as sqlite:orders.db")
	case kind == "sqlite" && location != "":
		if dir, err := os.Stat(filepath.Dir(location)); err != nil || !dir.IsDir() {
			return source{}, fmt.Errorf("the directory %s of the file %s does not exist: create it", filepath.Dir(location), filepath.Base(location))
		}
		dialect := func(pool gorm.ConnPool) gorm.Dialector { return &sqlite.Dialector{Conn: pool} }
		return source{url, sqliteURI(location), openSQLite, maxSQLiteConnections, dialect}, nil
	case kind == "mysql" && location != "":
		dsn, err := driver.ParseDSN(withoutLoc(location))
		if err != nil {
			return source{}, fmt.Errorf("not a DSN of the form user:password@tcp(host:port)/name?parameter=value: %s",
				explainDSNError(err))
		}
		dsn.ParseTime, dsn.Loc = true, time.UTC                       // so that all instances agree on times
		dsn.ClientFoundRows = true                                    // a row that matches counts even if nothing in it changes, as in SQLite
		dsn.RejectReadOnly = false                                    // it hides the refusal, which is handled here
		dsn.InterpolateParams = true                                  // one round trip per statement; utf8mb4 can be quoted safely
		dsn.Timeout = cmp.Or(dsn.Timeout, tables.CallTimeout)         // to connect
		dsn.ReadTimeout = cmp.Or(dsn.ReadTimeout, tables.CallTimeout) // for calls without a context
		// A statement that waits for a row does not outlive its caller.
		settings := map[string]string{"innodb_lock_wait_timeout": strconv.Itoa(int(tables.CallTimeout.Seconds()))}
		maps.Copy(settings, dsn.Params)
		dsn.Params = settings
		dialect := func(pool gorm.ConnPool) gorm.Dialector { return mysql.New(mysql.Config{Conn: pool, DSNConfig: dsn}) }
		return source{"mysql " + dsn.Addr + "/" + dsn.DBName, dsn.FormatDSN(), openMySQL, maxMySQLConnections, dialect}, nil
	}
	return source{}, fmt.Errorf("unknown database: use sqlite:PATH or mysql:user:password@tcp(host:port)/name")
}

// withoutLoc removes the time zone from a DSN: times are in UTC here, and a machine may not know the zone.
func withoutLoc(dsn string) string {
	name := strings.LastIndex(dsn, "/") + 1 // the driver looks for the parameters behind it
	form, parameters, _ := strings.Cut(dsn[name:], "?")
	kept := slices.DeleteFunc(strings.Split(parameters, "&"), func(p string) bool { return strings.HasPrefix(p, "loc=") })
	return dsn[:name] + form + "?" + strings.Join(kept, "&")
}

// explainDSNError says why the driver rejects a DSN, without quoting the DSN: any part of it may be the password. The driver's messages
// about the form quote nothing.
func explainDSNError(err error) string {
	if message, aboutForm := strings.CutPrefix(err.Error(), "invalid DSN: "); aboutForm {
		return message
	}
	return "the driver refuses a parameter, or what stands before the slash: https://github.com/go-sql-driver/mysql#dsn-data-source-name"
}

// open connects. gorm's first queries have no context, so they are sent only after the database has answered a ping that has one.
func (src source) open(ctx context.Context) (*gorm.DB, error) {
	pool, err := src.openPool(src.dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(src.maxConnections)
	pool.SetMaxIdleConns(src.maxConnections) // otherwise a burst keeps opening connections
	var db *gorm.DB
	if err = pool.PingContext(ctx); err == nil {
		db, err = gorm.Open(src.dialect(pool), &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	}
	if err != nil {
		_ = pool.Close()
	}
	return db, err
}

func openSQLite(uri string) (*sql.DB, error) { return sql.Open(sqlite.DriverName, uri) }

// sqliteBusyTimeout is how long SQLite itself waits for another writer. It is short because a context cannot end it; [tables.WaitToWrite]
// retries.
const sqliteBusyTimeout = 20 * time.Millisecond

// sqliteURI sets SQLite up for several processes. In WAL mode, readers run beside the one writer. A transaction takes the write lock when
// it begins: if it took the lock later, it would fail if another process had written in the meantime.
func sqliteURI(path string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.Clean(path)}).EscapedPath()}
	u.RawQuery = url.Values{
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", sqliteBusyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(NORMAL)"},
		"_txlock": {"immediate"},
	}.Encode()
	return u.String()
}

// withoutPassword returns the URL of a database with its password replaced by ***.
func withoutPassword(url string) string {
	kind, rest, hasKind := strings.Cut(url, ":")
	mayHavePassword := strings.Contains(rest, "@") || strings.HasPrefix(rest, "//") // the latter is a URL
	if !hasKind || kind == "sqlite" || kind != "mysql" && !mayHavePassword {
		return url
	}
	at := strings.LastIndex(rest, "@tcp(") // in a malformed DSN the password may be anywhere before that, and in a parameter
	if at < 0 || kind != "mysql" {
		return kind + ":***"
	}
	address, _, _ := strings.Cut(rest[at:], "?")
	return kind + ":***" + address
}
