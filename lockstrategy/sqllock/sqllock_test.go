package sqllock_test

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sqlitedriver "github.com/glebarez/go-sqlite"
	"github.com/glebarez/sqlite"
	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lab/testenv/testlocks"
	"locklab/lockstrategy"
	"locklab/lockstrategy/locktest"
	"locklab/lockstrategy/sqllock"
	"locklab/versions"
)

func TestDatabaseConforms(t *testing.T) {
	t.Parallel()
	for layer, queued := range testlocks.AloneAndQueued {
		t.Run("sqlite/"+layer, func(t *testing.T) { // SQLite is a part of this process, so its time can be that of a bubble
			testlocks.InLoop(t, queued)
			locktest.RunInBubbles(t, func(t *testing.T) locktest.Backend { return databaseBackend(t, sqliteFile(t), queued) })
		})
		t.Run("mariadb/"+layer, func(t *testing.T) {
			t.Parallel()
			testlocks.OnServer(t, queued)
			b := databaseBackend(t, mariaDB(t), queued)
			b.Wired = true
			locktest.Run(t, b)
		})
	}
}

// SQLite asks the operating system for the time. Here julianday('now') asks Go, whose time may be that of a bubble. It has the milliseconds
// that SQLite has.
func init() {
	sqlitedriver.MustRegisterDeterministicScalarFunction("julianday", 1,
		func(_ *sqlitedriver.FunctionContext, at []sqldriver.Value) (sqldriver.Value, error) {
			if at[0] != "now" {
				return nil, fmt.Errorf("julianday(%v): only now is known here", at[0])
			}
			const epoch = 210866760000000 // 1970 in milliseconds since noon in Greenwich on November 24, 4714 B.C.
			return float64(epoch+time.Now().UnixMilli()) / (24 * 60 * 60 * 1000), nil
		})
}

func databaseBackend(t *testing.T, connect func(*testing.T, locktest.Settings) *gorm.DB, queued bool) locktest.Backend {
	admin := connect(t, locktest.Settings{})
	table := func(key string) *gorm.DB { return admin.Table("locklab_locks").Where("name = ?", key) }
	return locktest.Backend{
		Fenced: true, Queued: queued, Polls: true,
		Open: func(t *testing.T, s locktest.Settings) locktest.Client {
			db := connect(t, s)
			timing := lockstrategy.Timing{Expiry: s.Lease, Request: testlocks.Request(s)}
			d := testlocks.Must(sqllock.New(db, "", timing))(t)
			client := testlocks.Opened(t, queued, d, d.Close, s.HandOff)
			client.Crash = func() { closePool(db) }
			client.Sent = statements(t, db)
			return client
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

// databases are the kinds of databases, and what opens one and connects to it.
var databases = map[string]func(*testing.T) func(*testing.T, locktest.Settings) *gorm.DB{"sqlite": sqliteFile, "mariadb": mariaDB}

// onDatabases runs a test with two processes on each kind of database.
func onDatabases(t *testing.T, test func(t *testing.T, one, two *gorm.DB)) {
	for name, start := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connect := start(t)
			test(t, connect(t, locktest.Settings{}), connect(t, locktest.Settings{}))
		})
	}
}

func databaseLock(t *testing.T, db *gorm.DB, lease time.Duration) *versions.Opened {
	t.Helper()
	return testlocks.Open(t, versions.NameDatabase, versions.Backends{Database: db, Named: "the database", Expiry: lease})
}

// grantedAt acquires and releases, and returns the token.
func grantedAt(t *testing.T, lock *versions.Opened) uint64 {
	t.Helper()
	lease := testlocks.Must(lock.Acquire(t.Context(), "k", lockstrategy.TryOnce()))(t)
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	return lease.FencingToken()
}

// The last token is lost with the row, with the table, or by a backup that is restored.
func TestTokensOfADatabaseGrowOverALoss(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, one, two *gorm.DB) {
		last := uint64(0)
		for _, loss := range []string{
			"SELECT 1", "UPDATE locklab_locks SET token = 7", "DELETE FROM locklab_locks", "DROP TABLE locklab_locks",
			"UPDATE locklab_locks SET token = 1795349313468964", // an older version's
		} {
			first := grantedAt(t, databaseLock(t, one, 0))
			granted := time.Now()
			testenv.Eventually(t, "SQLite's clock, which counts milliseconds, has moved", func() bool {
				return time.Since(granted) > 2*time.Millisecond
			})
			if err := two.Exec(loss).Error; err != nil {
				t.Fatal(err)
			}
			if first <= last {
				t.Errorf("token %d was followed by %d", last, first)
			}
			if last = grantedAt(t, databaseLock(t, two, 0)); last <= first {
				t.Errorf("after %s token %d was followed by %d", loss, first, last)
			}
			if last > 1<<53 {
				t.Errorf("JavaScript cannot count to %d", last)
			}
		}
	})
}

// A holder learns that its row is gone, and the table is there for the next.
func TestTheTableIsLostWhileALockIsHeld(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, one, two *gorm.DB) {
		lock := databaseLock(t, one, 12*time.Second) // a busy machine drops and creates a table slowly
		lease := testlocks.Must(lock.Acquire(t.Context(), "k"))(t)
		if err := two.Exec("DROP TABLE locklab_locks").Error; err != nil {
			t.Fatal(err)
		}
		<-lease.Context().Done()
		if cause := context.Cause(lease.Context()); !errors.Is(cause, lockstrategy.ErrGone) {
			t.Errorf("the lease ended with %v", cause)
		}
		_ = lease.Release(t.Context())
		next := testlocks.Must(lock.Acquire(t.Context(), "k"))(t) // the process may still be releasing what it has lost
		if next.FencingToken() <= lease.FencingToken() {
			t.Errorf("token %d was followed by %d", lease.FencingToken(), next.FencingToken())
		}
		testlocks.Released(t, next)
	})
}

// clockAt sets the clock that the statements of db see, which then stands still. 0: the server's own.
func clockAt(t *testing.T, db *gorm.DB, unix int64) {
	t.Helper()
	testlocks.Must(db.DB())(t).SetMaxOpenConns(1) // it is a setting of the connection
	if err := db.Exec("SET timestamp = ?", unix).Error; err != nil {
		t.Fatal(err)
	}
}

// A clock that jumps ahead ends the lease of a holder, as it does in Redis. Another time zone does not. The token tells the holders apart,
// also when the clock is set back.
func TestTheClockOfADatabaseJumps(t *testing.T) {
	t.Parallel()
	connect := mariaDB(t)
	one, two := connect(t, locktest.Settings{}), connect(t, locktest.Settings{})
	holder := testlocks.Must(databaseLock(t, one, time.Minute).Acquire(t.Context(), "k"))(t)
	other := databaseLock(t, two, time.Minute)
	testlocks.Must(two.DB())(t).SetMaxOpenConns(1) // a time zone is a setting of the connection
	if err := two.Exec("SET time_zone = '+05:00'").Error; err != nil {
		t.Fatal(err)
	}
	if _, err := other.Acquire(t.Context(), "k", lockstrategy.TryOnce()); !errors.Is(err, lockstrategy.ErrTaken) {
		t.Fatalf("got %v", err)
	}
	clockAt(t, two, time.Now().Add(time.Hour).Unix())
	second := testlocks.Must(other.Acquire(t.Context(), "k", lockstrategy.TryOnce()))(t)
	if second.FencingToken() <= holder.FencingToken() {
		t.Errorf("token %d was followed by %d", holder.FencingToken(), second.FencingToken())
	}
	if err := holder.Release(t.Context()); !errors.Is(err, lockstrategy.ErrGone) {
		t.Errorf("the first holder releases: %v", err)
	}
	if err := second.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{time.Now().Add(-time.Hour).Unix(), 0} {
		clockAt(t, two, at)
		if third := grantedAt(t, other); third <= second.FencingToken() {
			t.Errorf("with the clock at %d token %d was followed by %d", at, second.FencingToken(), third)
		}
	}
}

// A caller that waits reads. So it needs nothing that a writer has, and no writer waits for it.
func TestAWaiterOfADatabaseWritesNothing(t *testing.T) {
	t.Parallel()
	connect := sqliteFile(t)
	one, two := connect(t, locktest.Settings{}), connect(t, locktest.Settings{})
	holder := testlocks.Must(databaseLock(t, one, time.Minute).Acquire(t.Context(), "k"))(t)
	waiter := testlocks.Must(sqllock.New(two, "", lockstrategy.Timing{Request: 15 * time.Second}))(t)
	defer waiter.Close()
	sent := statements(t, two)
	granted := make(chan error, 1)
	go func() {
		lease, err := waiter.Acquire(context.Background(), "k")
		if err == nil {
			err = lease.Release(context.Background())
		}
		granted <- err
	}()
	testenv.Eventually(t, "the caller waits", func() bool { return sent() >= 3 })
	writer := one.Begin() // it has SQLite's only lock for writers
	before := sent()
	testenv.Eventually(t, "the caller asks", func() bool { return sent() >= before+10 })
	if err := writer.Rollback().Error; err != nil {
		t.Fatal(err)
	}
	if err := holder.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-granted; err != nil {
		t.Error(err)
	}
}

// A caller waits for another writer of SQLite also when the connection does not: SQLite has executed nothing.
func TestACallerWaitsForAWriterOfSQLite(t *testing.T) {
	t.Parallel()
	connect := sqliteFile(t)
	one, two := connect(t, locktest.Settings{}), connect(t, locktest.Settings{})
	testlocks.Must(two.DB())(t).SetMaxOpenConns(1) // busy_timeout is a setting of the connection
	if err := two.Exec("PRAGMA busy_timeout(0)").Error; err != nil {
		t.Fatal(err)
	}
	lock := testlocks.Must(sqllock.New(two, "", lockstrategy.Timing{Request: 15 * time.Second}))(t)
	defer lock.Close()
	grantedNow := func() error {
		lease, err := lock.Acquire(t.Context(), "k", lockstrategy.TryOnce())
		if err != nil {
			return err
		}
		return lease.Release(t.Context())
	}
	if err := grantedNow(); err != nil { // it has created the table
		t.Fatal(err)
	}
	var refused atomic.Int64
	err := two.Callback().Row().Register("refused", func(done *gorm.DB) { refused.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	writer := one.Begin()
	granted := make(chan error, 1)
	go func() { granted <- grantedNow() }()
	testenv.Eventually(t, "the caller has asked three times, or failed", func() bool { return refused.Load() >= 3 || len(granted) > 0 })
	if err := writer.Rollback().Error; err != nil {
		t.Fatal(err)
	}
	if err := <-granted; err != nil {
		t.Error(err)
	}
}

func TestADatabaseThatRefusesIsNamed(t *testing.T) {
	t.Parallel()
	server := sharedMariaDB.Of(t)
	dsn := testlocks.Must(driver.ParseDSN(server.DSN))(t)
	dsn.User, dsn.Passwd, dsn.Logger = "nobody", "hunter2", new(driver.NopLogger)
	_, err := databaseLock(t, gormDB(t, mysql.New(mysql.Config{DSNConfig: dsn, SkipInitializeWithVersion: true})), 0).Acquire(t.Context(), "k")
	if !errors.Is(err, lockstrategy.ErrUnavailable) || !strings.Contains(err.Error(), "the database: acquire: ") ||
		!strings.Contains(err.Error(), "Access denied") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// A database that may not create the table grants nothing, and its answer is told.
func TestADatabaseThatCreatesNoTable(t *testing.T) {
	db := sqliteFile(t)(t, locktest.Settings{})
	testlocks.Must(db.DB())(t).SetMaxOpenConns(1) // query_only is a setting of the connection
	if err := db.Exec("PRAGMA query_only(1)").Error; err != nil {
		t.Fatal(err)
	}
	_, err := databaseLock(t, db, 0).Acquire(t.Context(), "k", lockstrategy.TryOnce())
	if !errors.Is(err, lockstrategy.ErrUnavailable) || !strings.Contains(err.Error(), "readonly") {
		t.Errorf("got %v", err)
	}
}

// Names are compared byte by byte, also a space at the end. One that is too long is refused, and not cut.
func TestNamesOfADatabase(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, one, _ *gorm.DB) {
		lock := databaseLock(t, one, time.Minute)
		for _, key := range []string{"", strings.Repeat("k", 256)} {
			_, err := lock.Acquire(t.Context(), key)
			if !errors.Is(err, lockstrategy.ErrNotAcquired) || errors.Is(err, lockstrategy.ErrUnavailable) {
				t.Errorf("a name of %d bytes: %v", len(key), err)
			}
		}
		for _, key := range []string{"lock:a", "lock:a ", strings.Repeat("k", 255)} {
			defer testlocks.Released(t, testlocks.Must(lock.Acquire(t.Context(), key, lockstrategy.TryOnce()))(t))
		}
	})
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

var sharedMariaDB = testenv.Shared[*servers.Database]{
	Need: testenv.MariaDB,
	Start: func(ctx context.Context, s *servers.Stack) (*servers.Database, error) {
		return s.MariaDB(ctx, "--max-connections=1000")
	},
}

// mariaDatabases is how many tests have made a database on the shared server.
var mariaDatabases atomic.Int64

// mariaDB makes a database, and returns what connects to it.
func mariaDB(t *testing.T) func(*testing.T, locktest.Settings) *gorm.DB {
	server := sharedMariaDB.Of(t)
	name := fmt.Sprintf("test_%d", mariaDatabases.Add(1))
	if err := gormDB(t, mysql.Open(server.DSN)).Exec("CREATE DATABASE " + name).Error; err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, s locktest.Settings) *gorm.DB {
		dsn := testlocks.Must(driver.ParseDSN(server.DSN))(t)
		dsn.DBName = name
		dsn.Addr, dsn.ClientFoundRows, dsn.InterpolateParams, dsn.Timeout = testlocks.Behind(t, s.Wire, server.Addr), true, true, 20*time.Second
		dsn.Logger = new(driver.NopLogger) // connections are cut on purpose
		return gormDB(t, mysql.New(mysql.Config{DSNConfig: dsn}))
	}
}

// gormDB opens a database that is closed when the test ends.
func gormDB(t *testing.T, dialect gorm.Dialector) *gorm.DB {
	t.Helper()
	db := testlocks.Must(gorm.Open(dialect, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true}))(t)
	t.Cleanup(func() { closePool(db) })
	return db
}

func closePool(db *gorm.DB) {
	if pool, err := db.DB(); err == nil {
		_ = pool.Close()
	}
}
