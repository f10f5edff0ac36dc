package order

import (
	"cmp"
	"context"
	"database/sql"
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
)

// How many connections a store opens at most, whatever the burst; a call waits for a free one within
// its bound. SQLite has one writer at a time, and those that wait for it hold each other up. MySQL
// and MariaDB take 151 unless told otherwise: room for two instances.
const (
	sqliteConnections = 8
	mysqlConnections  = 64
)

// Config says where the orders are kept.
type Config struct {
	Database string        // "sqlite:PATH" or "mysql:DSN", the DSN as go-sql-driver/mysql has it
	Think    time.Duration // between reading and writing an order; A2 sleeps one second
}

// Validate says what is wrong with a configuration, without opening anything.
func (c Config) Validate() error {
	_, err := c.source()
	return err
}

// OpenStore opens the database, and creates its tables when they are missing. It tries until ctx
// ends; the error names the database.
func OpenStore(ctx context.Context, cfg Config) (*Store, error) {
	from, err := cfg.source()
	if err != nil {
		return nil, err
	}
	for {
		s := &Store{name: from.name, think: cfg.Think}
		// Several instances may create the tables at the same moment; the second try finds them.
		if s.db, err = from.open(ctx); err == nil {
			return s, nil
		}
		pause := time.NewTimer(100 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, fmt.Errorf("database %s: not reached in time: %w", from.name, err)
		case <-pause.C:
		}
	}
}

// source is where a database is.
type source struct {
	name        string // shows no password
	driver, dsn string // of database/sql
	connections int    // at most
	dialect     func(gorm.ConnPool) gorm.Dialector
}

// source returns where the configured database is.
func (c Config) source() (source, error) {
	kind, where, _ := strings.Cut(c.Database, ":")
	switch {
	case kind == "sqlite" && where == ":memory:":
		return source{}, fmt.Errorf("SQLite in memory would be another database for every connection: keep it in a file")
	case kind == "sqlite" && where != "":
		if dir, err := os.Stat(filepath.Dir(where)); err != nil || !dir.IsDir() {
			return source{}, fmt.Errorf("there is no directory %s to keep %s in", filepath.Dir(where), filepath.Base(where))
		}
		dialect := func(pool gorm.ConnPool) gorm.Dialector { return &sqlite.Dialector{Conn: pool} }
		return source{c.Database, sqlite.DriverName, sqliteURI(where), sqliteConnections, dialect}, nil
	case kind == "mysql" && where != "":
		dsn, err := driver.ParseDSN(where)
		if err != nil { // not told: it may quote the password, which it took for something else
			return source{}, fmt.Errorf("not a DSN of the form user:password@tcp(host:port)/name?parameter=value")
		}
		dsn.ParseTime = true
		dsn.ClientFoundRows = true                        // a row that matches counts, as in SQLite, also when nothing in it changes
		dsn.Timeout = cmp.Or(dsn.Timeout, answer)         // to connect
		dsn.ReadTimeout = cmp.Or(dsn.ReadTimeout, answer) // for what no context bounds
		dialect := func(pool gorm.ConnPool) gorm.Dialector { return mysql.New(mysql.Config{Conn: pool, DSNConfig: dsn}) }
		return source{"mysql " + dsn.Addr + "/" + dsn.DBName, mysql.DefaultDriverName, dsn.FormatDSN(), mysqlConnections, dialect}, nil
	}
	return source{}, fmt.Errorf("allowed are sqlite:PATH and mysql:user:password@tcp(host:port)/name")
}

// open connects and creates the tables. gorm's own first questions have no context: they are only
// asked when the database has answered.
func (f source) open(ctx context.Context) (*gorm.DB, error) {
	pool, err := sql.Open(f.driver, f.dsn)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(f.connections)
	pool.SetMaxIdleConns(f.connections) // or a burst would connect again and again
	var db *gorm.DB
	if err = pool.PingContext(ctx); err == nil {
		db, err = gorm.Open(f.dialect(pool), &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	}
	if err == nil {
		err = createTables(db.WithContext(ctx))
	}
	if err != nil {
		_ = pool.Close()
	}
	return db, err
}

// createTables creates what is missing, tables and columns. gorm panics over a column that another
// instance adds while it looks; what it did until then is whole, and the next try finds the column.
func createTables(db *gorm.DB) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("create tables: %v", cause)
		}
	}()
	return db.AutoMigrate(&Order{}, &Win{})
}

// sqliteURI sets SQLite up for several processes: readers beside one writer (WAL), waiting for the
// write lock instead of failing, and transactions that take it from the start, since one that
// takes it in the middle fails when another has written meanwhile.
func sqliteURI(path string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.Clean(path)}).EscapedPath()}
	u.RawQuery = url.Values{
		"_pragma": {"journal_mode(WAL)", fmt.Sprintf("busy_timeout(%d)", answer.Milliseconds()), "synchronous(NORMAL)"},
		"_txlock": {"immediate"},
	}.Encode()
	return u.String()
}
