package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"locklab/internal/faultproxy"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/order"
)

// hostileSettings are a variable, a default that a server may have, and the value that a session of ours must have. With the server's
// value, statements would fail, would not be committed, or would have other effects. Where there is no third value, the server's value is
// harmless.
var hostileSettings = [][3]string{
	{"autocommit", "0", "1"},
	{"init_connect", "'SET autocommit = 0'"},
	{"completion_type", "1", "NO_CHAIN"},
	{"completion_type", "2", "NO_CHAIN"},
	{"tx_isolation", "'READ-UNCOMMITTED'", "REPEATABLE-READ"},
	{"tx_isolation", "'SERIALIZABLE'", "REPEATABLE-READ"},
	{"tx_read_only", "1", "0"},
	{"innodb_lock_wait_timeout", "0", "5"},
	{"default_storage_engine", "MyISAM", "InnoDB"},
	{"unique_checks", "0", "1"},
	{"sql_mode", "''", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"},
	{"sql_mode", "'ORACLE,ANSI_QUOTES,NO_BACKSLASH_ESCAPES'", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"},
	{"sql_mode", "'EMPTY_STRING_IS_NULL'", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"},
	{"sql_safe_updates", "1", "0"},
	{"sql_select_limit", "1", "18446744073709551615"},
	{"max_join_size", "1"},
	{"time_zone", "'+05:00'"},
	{"wait_timeout", "1"},
	{"foreign_key_checks", "0"},
	{"sql_auto_is_null", "1"},
	{"auto_increment_increment", "7"},
	{"innodb_snapshot_isolation", "1"}, // the default of MariaDB 11.6
}

// Two instances work on a server with other defaults than the statements rely on.
func TestSessionSettings(t *testing.T) {
	t.Parallel()
	server := mariaDB(t)
	for i, setting := range hostileSettings {
		name, value, want := setting[0], setting[1], setting[2]
		t.Run(name+" = "+value, func(t *testing.T) {
			where := createForUser(t, server, fmt.Sprintf("hostile_%d", i))
			exec(t, server.DSN, "SET GLOBAL "+name+" = "+value)
			defer exec(t, server.DSN, "SET GLOBAL "+name+" = DEFAULT")
			one, two := newInstance(t, where), newInstance(t, where)
			if want != "" {
				if got := queryText(t, one.orders.DB, "SELECT @@SESSION."+name); got != want {
					t.Errorf("a session has %s, want %s", got, want)
				}
			}
			testTwoInstances(t, one, two)
		})
	}
}

// A DSN cannot change the settings of a session.
func TestDSNCannotChangeSession(t *testing.T) {
	t.Parallel()
	where := createForUser(t, mariaDB(t), "dsn") + "?AUTOCOMMIT=0&tx_isolation=%27SERIALIZABLE%27&loc=Asia%2FTokyo&rejectReadOnly=true"
	testTwoInstances(t, newInstance(t, where), newInstance(t, where))
}

// A DSN may choose a collation of utf8mb4. Other character sets are rejected: they would change or reject some texts.
func TestMariaDBWithACollation(t *testing.T) {
	t.Parallel()
	where := createForUser(t, mariaDB(t), "collation")
	testTwoInstances(t, newInstance(t, where+"?collation=utf8mb4_bin"), newInstance(t, where))
	for parameter, want := range map[string]string{
		"collation=gbk_chinese_ci": "choose one of utf8mb4", "charset=latin1": "the connection has latin1",
	} {
		if _, err := order.OpenStore(testenv.Context(t), where+"?"+parameter); err == nil ||
			!strings.Contains(err.Error(), want) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %q without waiting", parameter, err, want)
		}
	}
}

// newFailover starts two servers behind one address. The address leads to the first one, and to the second after switchOver.
func newFailover(t *testing.T) (first, second *servers.Database, where string, switchOver func()) {
	t.Helper()
	first, second = mariaDB(t), mariaDB(t)
	createForUser(t, second, "shared")
	var addr atomic.Value
	addr.Store(first.Addr)
	proxy := faultproxy.New(func(ctx context.Context) (net.Conn, error) { return faultproxy.TCP(addr.Load().(string))(ctx) })
	t.Cleanup(proxy.Close)
	proxyAddr, err := proxy.Listen()
	if err != nil {
		t.Fatal(err)
	}
	where = strings.Replace(createForUser(t, first, "shared"), first.Addr, proxyAddr, 1)
	return first, second, where, func() { addr.Store(second.Addr) }
}

// fillPool opens n connections, which stay in the pool, and returns when they are old enough to be dropped.
func fillPool(t *testing.T, db *gorm.DB, n int) {
	t.Helper()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	conns := make([]*sql.Conn, n)
	for i := range conns {
		if conns[i], err = pool.Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	opened := time.Now()
	testenv.Eventually(t, "a second has passed", func() bool { return time.Since(opened) > 1100*time.Millisecond })
}

// A server becomes read-only, and its address leads to another server, while the connections to the first one stay open. Errors contain
// what the first server said. Then everything that uses the pool works again without a restart, and nothing is written twice.
func TestReadOnlyFailover(t *testing.T) {
	t.Parallel()
	first, second, where, switchOver := newFailover(t)
	i := newInstance(t, where)
	if _, err := i.orders.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, first.DSN, "SET GLOBAL read_only = 1")
	wantReadOnly := func(call string, err error) {
		if err == nil || !strings.Contains(err.Error(), "Error 1290") || !strings.Contains(err.Error(), "--read-only") {
			t.Errorf("%s: %v, want the error of the server", call, err)
		}
	}
	for range 2 { // the server stays read-only for a while
		_, err := i.orders.Create(t.Context())
		wantReadOnly("order", err)
		_, err = i.orders.GrabAtomic(t.Context(), order.Attempt{OrderID: 1, Driver: 1})
		wantReadOnly("grab", err)
		wantReadOnly("lock", i.lock.Do(t.Context(), "k", func(context.Context, uint64) error { return nil }))
		wantReadOnly("shop", i.shop.Stock(t.Context(), 1, 100))
	}
	fillPool(t, i.orders.DB, 20)
	switchOver()
	_, err := i.orders.Create(t.Context())
	wantReadOnly("the first order", err) // drops all connections
	var group errgroup.Group
	const created = 30
	for range created {
		group.Go(func() error { _, err := i.orders.Create(t.Context()); return err })
	}
	if err := group.Wait(); err != nil {
		t.Errorf("the next orders: %v", err)
	}
	if err := errors.Join(i.shop.Stock(t.Context(), 1, 100), i.write(t.Context(), 1, 1)); err != nil {
		t.Error(err)
	}
	for server, want := range map[*servers.Database]int{first: 1, second: created} {
		admin := open(t, strings.Replace("mysql:"+server.DSN, "/"+servers.DatabaseName, "/shared", 1))
		if n := queryText(t, admin.DB, "SELECT COUNT(*) FROM orders"); n != fmt.Sprint(want) {
			t.Errorf("a server has %s orders, want %d", n, want)
		}
	}
}

// A connection is dropped after an error that says that its server executes no writes, in a statement or at a COMMIT. Other errors do not
// drop it.
func TestNoWriteErrorsDropConnections(t *testing.T) {
	t.Parallel()
	server := mariaDB(t)
	db := open(t, createForUser(t, server, "leaving")).DB
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	id := func() string { return queryText(t, db, "SELECT CONNECTION_ID()") }
	signal := func(number string) func() error {
		return func() error { return db.Exec("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = " + number).Error }
	}
	for name, c := range map[string]struct {
		fail    func() error
		dropped bool
	}{
		"1053": {signal("1053"), true}, "1290": {signal("1290"), true}, "1792": {signal("1792"), true}, "1836": {signal("1836"), true},
		"1047": {signal("1047"), true}, "3032": {signal("3032"), true},
		"1062, a duplicate": {signal("1062"), false},
		"1290 at a COMMIT":  {func() error { return commitOnReadOnly(t, db, server) }, true},
	} {
		fillPool(t, db, 1)
		before := id()
		if err := c.fail(); err == nil || !strings.Contains(err.Error(), name[:4]) {
			t.Errorf("%s: got %v", name, err)
		}
		if after := id(); (after != before) != c.dropped {
			t.Errorf("%s: connection %s is followed by %s, want dropped: %t", name, before, after, c.dropped)
		}
	}
}

// commitOnReadOnly returns the error of a COMMIT on a server that became read-only after the statement.
func commitOnReadOnly(t *testing.T, db *gorm.DB, server *servers.Database) error {
	if err := db.Exec("CREATE TABLE things (id INT)").Error; err != nil {
		t.Fatal(err)
	}
	tx := db.Begin()
	if err := tx.Exec("INSERT INTO things VALUES (1)").Error; err != nil {
		t.Fatal(err)
	}
	exec(t, server.DSN, "SET GLOBAL read_only = 1")
	defer exec(t, server.DSN, "SET GLOBAL read_only = 0")
	return tx.Commit().Error
}
