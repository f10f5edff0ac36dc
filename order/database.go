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

// The largest number of connections of a store. A call that finds none free waits, within its timeout. SQLite allows one writer at a time,
// and more connections that wait for it slow it down. MySQL and MariaDB accept 151 by default: enough for two instances.
const (
	maxSQLiteConnections = 8
	maxMySQLConnections  = 64
)

// Config says where the orders are kept.
type Config struct {
	// Database is "sqlite:PATH" or "mysql:DSN", with a DSN of go-sql-driver/mysql. The DSN cannot change how times are stored (in UTC), nor
	// the session settings that the statements rely on: see sessionSettings in mysql.go.
	Database string
}

// Validate checks a configuration without opening anything. The error does not include the password.
func (c Config) Validate() error {
	_, err := c.source()
	return err
}

// OpenStore opens the database and creates missing tables. It retries until ctx is done; then the error names the database and contains
// the error of the last attempt that was not cut off.
func OpenStore(ctx context.Context, cfg Config) (*Store, error) {
	src, err := cfg.source()
	if err != nil {
		return nil, err
	}
	s := &Store{name: src.name}
	err = reach.Until(ctx, 100*time.Millisecond, func(ctx context.Context) (err error) {
		s.tables = tables.Of(&Order{}, &Win{})
		s.db, err = src.open(ctx, s.tables)
		return err
	}, permanentError)
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", src.name, err)
	}
	return s, nil
}

// permanentError returns err, with what to do about it, if a retry cannot help. It returns nil if a retry may help.
func permanentError(err error) error {
	if errors.Is(err, tables.ErrCharset) {
		return err
	}
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

func (c Config) source() (source, error) {
	src, err := c.parse()
	if err != nil {
		return src, fmt.Errorf("%q: %w", withoutPassword(c.Database), err)
	}
	return src, nil
}

func (c Config) parse() (source, error) {
	kind, location, _ := strings.Cut(c.Database, ":")
	switch {
	case kind == "sqlite" && location == ":memory:":
		return source{}, errors.New("sqlite::memory: gives every connection its own database; name a file, such as sqlite:orders.db")
	case kind == "sqlite" && location != "":
		if dir, err := os.Stat(filepath.Dir(location)); err != nil || !dir.IsDir() {
			return source{}, fmt.Errorf("the directory %s of the file %s does not exist: create it", filepath.Dir(location), filepath.Base(location))
		}
		dialect := func(pool gorm.ConnPool) gorm.Dialector { return &sqlite.Dialector{Conn: pool} }
		return source{c.Database, sqliteURI(location), openSQLite, maxSQLiteConnections, dialect}, nil
	case kind == "mysql" && location != "":
		dsn, err := driver.ParseDSN(location)
		if err != nil {
			return source{}, fmt.Errorf("not a DSN of the form user:password@tcp(host:port)/name?parameter=value: %s",
				explainDSNError(location, err))
		}
		if dsn.Collation != "" && !strings.HasPrefix(dsn.Collation, "utf8mb4_") {
			return source{}, fmt.Errorf("the collation is %s: choose one of utf8mb4, or none", dsn.Collation)
		}
		dsn.ParseTime, dsn.Loc = true, time.UTC                       // so that all instances agree on times
		dsn.ClientFoundRows = true                                    // a row that matches counts even if nothing in it changes, as in SQLite
		dsn.RejectReadOnly = false                                    // it would hide the error of a read-only server; see connector
		dsn.InterpolateParams = true                                  // one round trip per statement; utf8mb4 can be quoted safely
		dsn.Timeout = cmp.Or(dsn.Timeout, tables.CallTimeout)         // to connect
		dsn.ReadTimeout = cmp.Or(dsn.ReadTimeout, tables.CallTimeout) // for calls without a context
		dialect := func(pool gorm.ConnPool) gorm.Dialector { return mysql.New(mysql.Config{Conn: pool, DSNConfig: dsn}) }
		return source{"mysql " + dsn.Addr + "/" + dsn.DBName, dsn.FormatDSN(), openMySQL, maxMySQLConnections, dialect}, nil
	}
	return source{}, fmt.Errorf("unknown database: use sqlite:PATH or mysql:user:password@tcp(host:port)/name")
}

// explainDSNError says why the driver rejects a DSN, without quoting the DSN: any part of it may be the password. The driver's own messages
// about the form quote nothing. A wrong parameter is named, but its value is not shown.
func explainDSNError(dsn string, err error) string {
	if message, aboutForm := strings.CutPrefix(err.Error(), "invalid DSN: "); aboutForm {
		return message
	}
	name, parameters, _ := strings.Cut(dsn[strings.LastIndex(dsn, "/")+1:], "?")
	if _, err := url.PathUnescape(name); err != nil {
		return "the name of the database contains a % that is not part of an escape such as %20"
	}
	for parameter := range strings.SplitSeq(parameters, "&") {
		if _, err := driver.ParseDSN("tcp(localhost:3306)/?" + parameter); err != nil {
			name, _, _ := strings.Cut(parameter, "=")
			return "the value of " + name + " is not valid" + valueHint(err)
		}
	}
	return "write tcp(host:port) before the slash"
}

// valueHint says which values a parameter takes, by the driver's error.
func valueHint(err error) string {
	switch text := err.Error(); {
	case strings.HasPrefix(text, "time: "):
		return "; use a duration with a unit, such as 5s"
	case strings.Contains(text, "bool value"):
		return "; use true or false"
	}
	return ""
}

// open connects and creates missing tables. gorm's first queries have no context, so they are sent only after the database has answered a
// ping that has one.
func (src source) open(ctx context.Context, set *tables.Set) (*gorm.DB, error) {
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
	if err == nil {
		err = set.Create(db.WithContext(ctx))
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

// withoutPassword returns a database setting with its password replaced by ***.
func withoutPassword(database string) string {
	kind, rest, hasKind := strings.Cut(database, ":")
	mayHavePassword := strings.Contains(rest, "@") || strings.HasPrefix(rest, "//") // the latter is a URL
	if !hasKind || kind == "sqlite" || kind != "mysql" && !mayHavePassword {
		return database
	}
	at := strings.LastIndex(rest, "@tcp(") // in a malformed DSN the password may be anywhere before that, and in a parameter
	if at < 0 || kind != "mysql" {
		return kind + ":***"
	}
	address, _, _ := strings.Cut(rest[at:], "?")
	return kind + ":***" + address
}
