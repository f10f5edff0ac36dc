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

	"locklab/cache"
	"locklab/internal/testenv"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/shop"
	"locklab/stack"
	"locklab/stack/faultproxy"
)

// instance is all that an instance keeps in a database.
type instance struct {
	orders *order.Store
	lock   lockstrategy.Guard // v5
	goods  *shop.Store
	items  *cache.Database
}

func newInstance(t *testing.T, where string) instance {
	t.Helper()
	s := open(t, where, 0)
	lock, err := lockstrategy.NewDatabase(s.DB(), s.String(), lockstrategy.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	items, err := cache.NewDatabase(t.Context(), s.DB(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return instance{s, lockstrategy.Guard{Strategy: lock, Wait: never}, shop.New(s.DB(), 0), items}
}

// write writes with each of them once, and sells three pieces of item 1.
func (i instance) write(ctx context.Context, id, who uint64) error {
	_, grabbed := i.orders.Grab(ctx, i.lock, order.Attempt{OrderID: id, Driver: who})
	p := shop.Purchase{ItemID: 1, Buyer: who, Quantity: 1}
	_, bought := i.goods.Buy(ctx, i.lock, p)
	_, forUpdate := i.goods.BuyForUpdate(ctx, p)
	_, unique := i.goods.SubmitUnique(ctx, p)
	_, twice := i.goods.SubmitUnique(ctx, p)
	if errors.Is(twice, shop.ErrDuplicate) {
		twice = nil
	}
	_, put := i.items.Put(ctx, 1, "семь")
	return errors.Join(grabbed, bought, forUpdate, unique, twice, put)
}

// forUser makes a database with this name, and a user of it without administrative rights. A server that is read-only still lets an
// administrator write.
func forUser(t *testing.T, server *stack.Database, name string) (where string) {
	t.Helper()
	for _, statement := range []string{
		"CREATE DATABASE " + name, "CREATE USER IF NOT EXISTS app@127.0.0.1 IDENTIFIED BY '" + password + "'",
		"GRANT ALL ON " + name + ".* TO app@127.0.0.1",
	} {
		execute(t, server.DSN, statement)
	}
	return "mysql:app:" + password + "@tcp(" + server.Addr + ")/" + name
}

// hostile are values that a server may give to each session, and what a session of ours has. Without that, statements fail, are not
// committed, or have other effects. Where the session keeps the server's value, no third value is here.
var hostile = [][3]string{
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

// Two instances work on a server that gives its sessions other values than the statements rely on.
func TestTheSettingsOfASession(t *testing.T) {
	t.Parallel()
	server := mariaDB(t)
	for i, setting := range hostile {
		name, value, want := setting[0], setting[1], setting[2]
		t.Run(name+" = "+value, func(t *testing.T) {
			where := forUser(t, server, fmt.Sprintf("hostile_%d", i))
			execute(t, server.DSN, "SET GLOBAL "+name+" = "+value)
			defer execute(t, server.DSN, "SET GLOBAL "+name+" = DEFAULT")
			one, two := newInstance(t, where), newInstance(t, where)
			if want != "" {
				if got := text(t, one.orders.DB(), "SELECT @@SESSION."+name); got != want {
					t.Errorf("a session has %s, want %s", got, want)
				}
			}
			testTwoInstances(t, one, two)
		})
	}
}

// The settings of a session are not the DSN's to choose.
func TestTheSettingsOfADSN(t *testing.T) {
	t.Parallel()
	where := forUser(t, mariaDB(t), "dsn") + "?AUTOCOMMIT=0&tx_isolation=%27SERIALIZABLE%27&loc=Asia%2FTokyo&rejectReadOnly=true"
	testTwoInstances(t, newInstance(t, where), newInstance(t, where))
}

func testTwoInstances(t *testing.T, one, two instance) {
	t.Helper()
	id := create(t, one.orders)
	if err := one.goods.Stock(t.Context(), 1, 100); err != nil {
		t.Fatal(err)
	}
	for who, i := range []instance{one, two, one, two} {
		if err := i.write(t.Context(), id, uint64(who+1)); err != nil {
			t.Errorf("the write of %d: %v", who+1, err)
		}
	}
	o := get(t, two.orders, id)
	report, reported := two.goods.Report(t.Context(), 1)
	item, read := two.items.Get(t.Context(), 1)
	got := fmt.Sprintf("driver %d, %d win, sold %d, left %d, the text %q of version %d, %v",
		o.Driver, len(o.Wins), report.Sold, report.Stock, item.Text, item.Version, errors.Join(reported, read))
	if want := `driver 1, 1 win, sold 12, left 88, the text "семь" of version 4, <nil>`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// text is the only value of a query's answer.
func text(t *testing.T, db *gorm.DB, query string) (value string) {
	t.Helper()
	if err := db.Raw(query).Row().Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// failover is two servers behind one address, which leads to the first.
func failover(t *testing.T) (first, second *stack.Database, where string, turn func()) {
	t.Helper()
	first, second = mariaDB(t), mariaDB(t)
	forUser(t, second, "shared")
	var addr atomic.Value
	addr.Store(first.Addr)
	proxy := faultproxy.New(func(ctx context.Context) (net.Conn, error) { return faultproxy.TCP(addr.Load().(string))(ctx) })
	t.Cleanup(proxy.Close)
	listens, err := proxy.Listen()
	if err != nil {
		t.Fatal(err)
	}
	where = strings.Replace(forUser(t, first, "shared"), first.Addr, listens, 1)
	return first, second, where, func() { addr.Store(second.Addr) }
}

// idle opens connections, which the pool keeps, and returns when they are old enough to be left.
func idle(t *testing.T, db *gorm.DB, n int) {
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

// A server becomes read-only, and its address leads to another one: the connections to the first stay open. The answer says what the first
// server said. All that use the pool work again without a restart, and nothing is written twice.
func TestAServerThatBecomesReadOnly(t *testing.T) {
	t.Parallel()
	first, second, where, turn := failover(t)
	i := newInstance(t, where)
	create(t, i.orders)
	execute(t, first.DSN, "SET GLOBAL read_only = 1")
	saysWhy := func(call string, err error) {
		if err == nil || !strings.Contains(err.Error(), "Error 1290") || !strings.Contains(err.Error(), "--read-only") {
			t.Errorf("%s: %v, want what the server said", call, err)
		}
	}
	for range 2 { // it is read-only for a while, before the address leads elsewhere
		_, err := i.orders.Create(t.Context())
		saysWhy("order", err)
		_, err = grabAtomic(1)(i.orders, 1)
		saysWhy("grab", err)
		saysWhy("lock", i.lock.Do(t.Context(), "k", func(context.Context, uint64) error { return nil }))
		saysWhy("shop", i.goods.Stock(t.Context(), 1, 100))
	}
	idle(t, i.orders.DB(), 20)
	turn()
	_, err := i.orders.Create(t.Context())
	saysWhy("the first order", err) // it ends the use of all connections
	var group errgroup.Group
	const created = 30
	for range created {
		group.Go(func() error { _, err := i.orders.Create(t.Context()); return err })
	}
	if err := group.Wait(); err != nil {
		t.Errorf("the orders after it: %v", err)
	}
	if err := errors.Join(i.goods.Stock(t.Context(), 1, 100), i.write(t.Context(), 1, 1)); err != nil {
		t.Error(err)
	}
	for server, want := range map[*stack.Database]int{first: 1, second: created} {
		admin := open(t, strings.Replace("mysql:"+server.DSN, "/"+stack.DatabaseName, "/shared", 1), 0)
		if n := text(t, admin.DB(), "SELECT COUNT(*) FROM orders"); n != fmt.Sprint(want) {
			t.Errorf("a server has %s orders, want %d", n, want)
		}
	}
}

// A connection is left after an error that says that its server takes no more writes, in a statement or at a COMMIT. It stays after others.
func TestErrorsAfterWhichAConnectionIsLeft(t *testing.T) {
	t.Parallel()
	server := mariaDB(t)
	s := open(t, forUser(t, server, "leaving"), 0)
	pool, err := s.DB().DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	id := func() string { return text(t, s.DB(), "SELECT CONNECTION_ID()") }
	fails := func(number string) func() error {
		return func() error { return s.DB().Exec("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = " + number).Error }
	}
	for name, c := range map[string]struct {
		fails func() error
		left  bool
	}{
		"1053": {fails("1053"), true}, "1290": {fails("1290"), true}, "1792": {fails("1792"), true}, "1836": {fails("1836"), true},
		"1047": {fails("1047"), true}, "3032": {fails("3032"), true},
		"1062, a duplicate": {fails("1062"), false},
		"1290 at a COMMIT":  {func() error { return commitReadOnly(t, s, server) }, true},
	} {
		idle(t, s.DB(), 1)
		before := id()
		if err := c.fails(); err == nil || !strings.Contains(err.Error(), name[:4]) {
			t.Errorf("%s: got %v", name, err)
		}
		if after := id(); (after != before) != c.left {
			t.Errorf("%s: connection %s is followed by %s, left should be %t", name, before, after, c.left)
		}
	}
}

// commitReadOnly is the error of a COMMIT on a server that has become read-only after the statement.
func commitReadOnly(t *testing.T, s *order.Store, server *stack.Database) error {
	tx := s.DB().Begin()
	if err := tx.Create(&order.Order{Status: order.Open, CreatedAt: time.Now()}).Error; err != nil {
		t.Fatal(err)
	}
	execute(t, server.DSN, "SET GLOBAL read_only = 1")
	defer execute(t, server.DSN, "SET GLOBAL read_only = 0")
	return tx.Commit().Error
}
