package lockstrategy_test

import (
	"errors"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
)

func TestDatabaseConforms(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(t *testing.T) func(*testing.T, locktest.Settings) *gorm.DB{
		"sqlite": sqliteFile, "mariadb": mariaDB,
	} {
		for layer, cohort := range withAndWithoutCohort {
			t.Run(name+"/"+layer, func(t *testing.T) {
				t.Parallel()
				b := databaseBackend(t, connect(t), cohort)
				b.Wired = name == "mariadb"
				locktest.Run(t, b)
			})
		}
	}
}

func databaseBackend(t *testing.T, connect func(*testing.T, locktest.Settings) *gorm.DB, cohort bool) locktest.Backend {
	admin := connect(t, locktest.Settings{})
	table := func(key string) *gorm.DB { return admin.Table("locklab_locks").Where("name = ?", key) }
	return locktest.Backend{
		Fenced: true, Cohort: cohort,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			db := connect(t, s)
			d := must(lockstrategy.NewDatabase(db, lockstrategy.DatabaseConfig{Lease: s.Lease, Request: request(s)}))(t)
			return locktest.Client{Opened: behindCohort(t, cohort, d, d.Close, s.HandOff), Crash: func() { closePool(db) }, Sent: statements(t, db)}
		},
		Server: &locktest.Server{
			Entries: func(t *testing.T, key string) (owners []string) {
				if err := table(key).Where("owner <> ''").Pluck("owner", &owners).Error; err != nil {
					t.Fatal(err)
				}
				return owners
			},
			Forget: func(t *testing.T, key string) {
				if err := table(key).Updates(map[string]any{"owner": "", "expires": 0}).Error; err != nil {
					t.Fatal(err)
				}
			},
		},
	}
}

// statements counts the statements that a database has executed for a client.
func statements(t *testing.T, db *gorm.DB) func() int {
	t.Helper()
	var n atomic.Int64
	count := func(done *gorm.DB) {
		if done.Error == nil {
			n.Add(1)
		}
	}
	all := db.Callback()
	if err := errors.Join(all.Raw().Register("count", count), all.Row().Register("count", count), all.Query().Register("count", count),
		all.Update().Register("count", count)); err != nil {
		t.Fatal(err)
	}
	return func() int { return int(n.Load()) }
}

// sqliteFile makes a database, and returns what opens it once more.
func sqliteFile(t *testing.T) func(*testing.T, locktest.Settings) *gorm.DB {
	file := filepath.Join(t.TempDir(), "locks.db")
	return func(t *testing.T, _ locktest.Settings) *gorm.DB {
		pragmas := url.Values{"_pragma": {"journal_mode(WAL)", "busy_timeout(5000)", "synchronous(NORMAL)"}, "_txlock": {"immediate"}}
		return gormDB(t, sqlite.Open("file:"+file+"?"+pragmas.Encode()))
	}
}

// mariaDB starts a server, and returns what connects to it.
func mariaDB(t *testing.T) func(*testing.T, locktest.Settings) *gorm.DB {
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, s locktest.Settings) *gorm.DB {
		dsn := must(driver.ParseDSN(server.DSN))(t)
		dsn.Addr, dsn.ClientFoundRows, dsn.InterpolateParams, dsn.Timeout = behind(t, s.Wire, server.Addr), true, true, time.Second
		dsn.Logger = new(driver.NopLogger) // connections are cut on purpose
		return gormDB(t, mysql.New(mysql.Config{DSNConfig: dsn}))
	}
}

// gormDB opens a database that is closed when the test ends.
func gormDB(t *testing.T, dialect gorm.Dialector) *gorm.DB {
	t.Helper()
	db := must(gorm.Open(dialect, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true}))(t)
	t.Cleanup(func() { closePool(db) })
	return db
}

func closePool(db *gorm.DB) {
	if pool, err := db.DB(); err == nil {
		_ = pool.Close()
	}
}
