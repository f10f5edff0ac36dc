package order_test

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
	"locklab/lockstrategy"
	"locklab/lockstrategy/sqllock"
	"locklab/order"
	"locklab/systems/cache"
	"locklab/systems/shop"
)

// instance is everything that an instance keeps in a database.
type instance struct {
	orders *order.Store
	lock   lockstrategy.Guard // v5
	shop   *shop.Store
	items  *cache.Database
}

func newInstance(t *testing.T, where string) instance {
	t.Helper()
	s := openStore(t, where, 0)
	lock, err := sqllock.New(s.DB(), s.String(), lockstrategy.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	items, err := cache.NewDatabase(t.Context(), s.DB(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return instance{s, lockstrategy.Guard{Strategy: lock, Wait: maxCallTime}, shop.New(s.DB(), 0), items}
}

// write writes with each part of the instance, and sells three pieces of item 1.
func (i instance) write(ctx context.Context, id, driver uint64) error {
	_, grabErr := i.orders.Grab(ctx, i.lock, order.Attempt{OrderID: id, Driver: driver})
	p := shop.Purchase{ItemID: 1, Buyer: driver, Quantity: 1}
	_, buyErr := i.shop.Buy(ctx, i.lock, p)
	_, forUpdateErr := i.shop.BuyForUpdate(ctx, p)
	_, uniqueErr := i.shop.SubmitUnique(ctx, p)
	_, duplicateErr := i.shop.SubmitUnique(ctx, p)
	if errors.Is(duplicateErr, shop.ErrDuplicate) {
		duplicateErr = nil
	}
	_, putErr := i.items.Put(ctx, 1, "семь")
	return errors.Join(grabErr, buyErr, forUpdateErr, uniqueErr, duplicateErr, putErr)
}

// createForUser creates a database, and a user of it without administrative rights: a read-only server still lets an administrator write.
func createForUser(t *testing.T, server *servers.Database, name string) (where string) {
	t.Helper()
	for _, statement := range []string{
		"CREATE DATABASE " + name, "CREATE USER IF NOT EXISTS app@127.0.0.1 IDENTIFIED BY '" + password + "'",
		"GRANT ALL ON " + name + ".* TO app@127.0.0.1",
	} {
		exec(t, server.DSN, statement)
	}
	return "mysql:app:" + password + "@tcp(" + server.Addr + ")/" + name
}

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
				if got := queryText(t, one.orders.DB(), "SELECT @@SESSION."+name); got != want {
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

func testTwoInstances(t *testing.T, one, two instance) {
	t.Helper()
	id := createOrder(t, one.orders)
	if err := one.shop.Stock(t.Context(), 1, 100); err != nil {
		t.Fatal(err)
	}
	for n, i := range []instance{one, two, one, two} {
		if err := i.write(t.Context(), id, uint64(n+1)); err != nil {
			t.Errorf("write %d: %v", n+1, err)
		}
	}
	o := getOrder(t, two.orders, id)
	report, reportErr := two.shop.Report(t.Context(), 1)
	item, getErr := two.items.Get(t.Context(), 1)
	got := fmt.Sprintf("driver %d, %d win, sold %d, left %d, the text %q of version %d, %v",
		o.Driver, len(o.Wins), report.Sold, report.Stock, item.Text, item.Version, errors.Join(reportErr, getErr))
	if want := `driver 1, 1 win, sold 12, left 88, the text "семь" of version 4, <nil>`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// queryText returns the only value of a query's result.
func queryText(t *testing.T, db *gorm.DB, query string) (value string) {
	t.Helper()
	if err := db.Raw(query).Row().Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
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
	createOrder(t, i.orders)
	exec(t, first.DSN, "SET GLOBAL read_only = 1")
	wantReadOnly := func(call string, err error) {
		if err == nil || !strings.Contains(err.Error(), "Error 1290") || !strings.Contains(err.Error(), "--read-only") {
			t.Errorf("%s: %v, want the error of the server", call, err)
		}
	}
	for range 2 { // the server stays read-only for a while
		_, err := i.orders.Create(t.Context())
		wantReadOnly("order", err)
		_, err = grabAtomic(1)(i.orders, 1)
		wantReadOnly("grab", err)
		wantReadOnly("lock", i.lock.Do(t.Context(), "k", func(context.Context, uint64) error { return nil }))
		wantReadOnly("shop", i.shop.Stock(t.Context(), 1, 100))
	}
	fillPool(t, i.orders.DB(), 20)
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
		admin := openStore(t, strings.Replace("mysql:"+server.DSN, "/"+servers.DatabaseName, "/shared", 1), 0)
		if n := queryText(t, admin.DB(), "SELECT COUNT(*) FROM orders"); n != fmt.Sprint(want) {
			t.Errorf("a server has %s orders, want %d", n, want)
		}
	}
}

// A connection is dropped after an error that says that its server executes no writes, in a statement or at a COMMIT. Other errors do not
// drop it.
func TestNoWriteErrorsDropConnections(t *testing.T) {
	t.Parallel()
	server := mariaDB(t)
	s := openStore(t, createForUser(t, server, "leaving"), 0)
	pool, err := s.DB().DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	id := func() string { return queryText(t, s.DB(), "SELECT CONNECTION_ID()") }
	signal := func(number string) func() error {
		return func() error { return s.DB().Exec("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = " + number).Error }
	}
	for name, c := range map[string]struct {
		fail    func() error
		dropped bool
	}{
		"1053": {signal("1053"), true}, "1290": {signal("1290"), true}, "1792": {signal("1792"), true}, "1836": {signal("1836"), true},
		"1047": {signal("1047"), true}, "3032": {signal("3032"), true},
		"1062, a duplicate": {signal("1062"), false},
		"1290 at a COMMIT":  {func() error { return commitOnReadOnly(t, s, server) }, true},
	} {
		fillPool(t, s.DB(), 1)
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
func commitOnReadOnly(t *testing.T, s *order.Store, server *servers.Database) error {
	tx := s.DB().Begin()
	if err := tx.Create(&order.Order{Status: order.Open, CreatedAt: time.Now()}).Error; err != nil {
		t.Fatal(err)
	}
	exec(t, server.DSN, "SET GLOBAL read_only = 1")
	defer exec(t, server.DSN, "SET GLOBAL read_only = 0")
	return tx.Commit().Error
}
