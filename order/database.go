package order

import (
	"cmp"
	"context"
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

// Config says where the orders are kept.
type Config struct {
	Database string        // "sqlite:PATH" or "mysql:DSN", the DSN as go-sql-driver/mysql has it
	Think    time.Duration // between reading and writing an order; A2 sleeps one second
}

// Validate says what is wrong with a configuration, without opening anything.
func (c Config) Validate() error {
	_, _, err := c.dialect()
	return err
}

// OpenStore opens the database, and creates its tables when they are missing. It tries until ctx
// ends; the error names the database.
func OpenStore(ctx context.Context, cfg Config) (*Store, error) {
	dialector, name, err := cfg.dialect()
	if err != nil {
		return nil, err
	}
	for {
		s := &Store{name: name, think: cfg.Think}
		if s.db, err = gorm.Open(dialector, &gorm.Config{Logger: logger.Discard}); err == nil {
			// Several instances may create the tables at the same moment; the second try finds them.
			if err = s.db.WithContext(ctx).AutoMigrate(&Order{}, &Win{}); err == nil {
				return s, nil
			}
			_ = s.Close()
		}
		pause := time.NewTimer(100 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, fmt.Errorf("database %s: not reached in time: %w", name, err)
		case <-pause.C:
		}
	}
}

// dialect returns gorm's driver for the database, and a name for it that shows no password.
func (c Config) dialect() (gorm.Dialector, string, error) {
	kind, where, _ := strings.Cut(c.Database, ":")
	switch {
	case kind == "sqlite" && where != "":
		if dir, err := os.Stat(filepath.Dir(where)); err != nil || !dir.IsDir() {
			return nil, "", fmt.Errorf("there is no directory %s to keep %s in", filepath.Dir(where), filepath.Base(where))
		}
		return sqlite.Open(sqliteURI(where)), c.Database, nil
	case kind == "mysql" && where != "":
		dsn, err := driver.ParseDSN(where)
		if err != nil {
			return nil, "", fmt.Errorf("not a DSN of the form user:password@tcp(host:port)/name: %w", err)
		}
		dsn.ParseTime = true
		dsn.Timeout = cmp.Or(dsn.Timeout, answer)         // to connect
		dsn.ReadTimeout = cmp.Or(dsn.ReadTimeout, answer) // for what no context bounds
		return mysql.New(mysql.Config{DSNConfig: dsn}), "mysql " + dsn.Addr + "/" + dsn.DBName, nil
	}
	return nil, "", fmt.Errorf("allowed are sqlite:PATH and mysql:user:password@tcp(host:port)/name")
}

// sqliteURI sets SQLite up for several processes: readers beside one writer (WAL), waiting for the
// write lock instead of failing, and transactions that take it from the start, since one that
// takes it in the middle fails when another has written meanwhile.
func sqliteURI(path string) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	u.RawQuery = url.Values{
		"_pragma": {"journal_mode(WAL)", fmt.Sprintf("busy_timeout(%d)", answer.Milliseconds()), "synchronous(NORMAL)"},
		"_txlock": {"immediate"},
	}.Encode()
	return u.String()
}
