package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"locklab/internal/tables"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/order"
	"locklab/systems/cache"
	"locklab/systems/shop"
)

// connections is more than the calls that repeat a refused one.
const connections = 32

// Behind an address that has moved, old connections lead to a server that has become read-only.
func TestServersThatRefuse(t *testing.T) {
	t.Parallel()
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	where := createForUser(t, server, "lab")
	i := newInstance(t, where)
	t.Run("requests", func(t *testing.T) { testRequestsLeaveAReadOnlyServer(t, server, i) })
	t.Run("a lock", func(t *testing.T) { testALockLeavesAReadOnlyServer(t, i) })
	t.Run("too many connections", func(t *testing.T) { testTooManyConnections(t, server, i, pool(t, open(t, where).DB)) })
	t.Run("a commit", func(t *testing.T) { testARefusedCommitWritesNothing(t, server, i) })
}

// Every request is done over a new connection, once, whatever the server says.
func testRequestsLeaveAReadOnlyServer(t *testing.T, server *servers.Database, i instance) {
	created, err := i.orders.Create(t.Context())
	if err := errors.Join(err, i.shop.Stock(t.Context(), 1, 1000)); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"orders", "shop_orders", "cache_items"} {
		refuseOldConnections(t, server, table)
	}
	for n, refusal := range []int{1036, 1047, 1290, 1792, 1836} {
		var calls errgroup.Group
		onConnections(t, i.orders.DB, "SELECT 1")
		exec(t, server.DSN, fmt.Sprintf("INSERT INTO lab.moved SELECT MAX(id), %d FROM information_schema.processlist", refusal))
		for c := range connections {
			driver := uint64(1 + n*connections + c)
			calls.Go(func() error {
				_, createErr := i.orders.Create(t.Context())
				_, grabErr := i.orders.GrabAtomic(t.Context(), order.Attempt{OrderID: created.ID, Driver: driver})
				_, buyErr := i.shop.BuyAtomic(t.Context(), shop.Purchase{ItemID: 1, Buyer: driver, Quantity: 1})
				_, putErr := i.items.Put(t.Context(), driver, "text")
				return errors.Join(createErr, grabErr, buyErr, putErr)
			})
		}
		if err := calls.Wait(); err != nil {
			t.Errorf("a request after the move, refused with %d: %v", refusal, err)
		}
	}
	// What was read from one server is not written to another one.
	onConnections(t, i.orders.DB, "SELECT 1")
	exec(t, server.DSN, "INSERT INTO lab.moved SELECT MAX(id), 1290 FROM information_schema.processlist")
	_, err = i.shop.Buy(t.Context(), testenv.NoLock, shop.Purchase{ItemID: 1, Buyer: 1, Quantity: 1})
	if !errors.Is(err, shop.ErrNotWritten) {
		t.Errorf("a write after a read from the old server: %v", err)
	}
	const requests = 5 * connections
	rows := queryText(t, i.orders.DB, "SELECT CONCAT_WS(' ', (SELECT COUNT(*) FROM orders), (SELECT COUNT(*) FROM wins), "+
		"(SELECT COUNT(*) FROM shop_orders), (SELECT SUM(version) FROM cache_items))")
	if want := fmt.Sprint(1+requests, " 1 ", requests, " ", requests); rows != want {
		t.Errorf("%s rows were written, want %s", rows, want)
	}
}

// refuseOldConnections lets a table refuse writes over connections that were opened before the last row of the table moved was written.
func refuseOldConnections(t *testing.T, server *servers.Database, table string) {
	t.Helper()
	exec(t, server.DSN, "CREATE TABLE IF NOT EXISTS lab.moved (id BIGINT, refusal INT)")
	for _, event := range []string{"INSERT", "UPDATE"} {
		exec(t, server.DSN, "CREATE TRIGGER lab."+table+"_"+event+" BEFORE "+event+" ON lab."+table+` FOR EACH ROW BEGIN
			DECLARE refusal INT DEFAULT (SELECT m.refusal FROM lab.moved m WHERE CONNECTION_ID() <= m.id ORDER BY m.id DESC LIMIT 1);
			IF refusal IS NOT NULL THEN SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = refusal, MESSAGE_TEXT = 'read-only'; END IF; END`)
	}
}

// onConnections opens connections, executes a statement on each, and leaves them in the pool.
func onConnections(t *testing.T, db *gorm.DB, statement string) {
	t.Helper()
	for range connections {
		conn, err := pool(t, db).Conn(t.Context())
		if err == nil {
			_, err = conn.ExecContext(t.Context(), statement)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
}

func pool(t *testing.T, db *gorm.DB) *sql.DB {
	t.Helper()
	p, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// takeAllConnections takes every connection that the server grants. One that was closed a moment ago still counts there.
func takeAllConnections(t *testing.T, others *sql.DB) {
	t.Helper()
	var all []*sql.Conn
	testenv.Eventually(t, "no other connection is left", func() bool {
		for {
			conn, err := others.Conn(t.Context())
			if err != nil {
				break
			}
			t.Cleanup(func() { _ = conn.Close() }) // the server may be gone
			all = append(all, conn)
		}
		if len(all) == 0 {
			return false
		}
		var most int
		row := all[0].QueryRowContext(t.Context(), "SELECT @@max_connections")
		return row.Scan(&most) == nil && most == len(all)
	})
}

// Without a connection, nothing is sent, and every error says so.
func testTooManyConnections(t *testing.T, server *servers.Database, i instance, others *sql.DB) {
	pool(t, i.orders.DB).SetMaxIdleConns(0) // it closes them
	exec(t, server.DSN, "SET GLOBAL max_connections = 10")
	takeAllConnections(t, others)
	_, createErr := i.orders.Create(t.Context())
	_, _, onceErr := i.shop.Once(t.Context(), "key", "content", time.Minute, nil)
	_, putErr := i.items.Put(t.Context(), 1, "text")
	_, forUpdateErr := i.shop.BuyForUpdate(t.Context(), shop.Purchase{ItemID: 1, Buyer: 1, Quantity: 1})
	for err, want := range map[error]error{
		createErr: order.ErrNotWritten, onceErr: shop.ErrNotWritten, putErr: cache.ErrNotWritten, forUpdateErr: shop.ErrNotWritten,
	} {
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "1040") {
			t.Error(err)
		}
	}
}

// A lock is acquired and released over new connections, too.
func testALockLeavesAReadOnlyServer(t *testing.T, i instance) {
	readOnly := func() { onConnections(t, i.orders.DB, "SET SESSION tx_read_only = ON") }
	for range 2 { // the first one creates the table
		readOnly()
		err := i.lock.Do(t.Context(), "k", func(context.Context, uint64) error { readOnly(); return nil })
		if err != nil {
			t.Error(err)
		}
	}
}

// A server that becomes read-only during a transaction refuses the COMMIT. Nothing is written then, and the error says so.
func testARefusedCommitWritesNothing(t *testing.T, server *servers.Database, i instance) {
	const count = "SELECT COUNT(*) FROM orders"
	before := queryText(t, i.orders.DB, count)
	err := tables.Of(&order.Order{}).DoWithin(t.Context(), i.orders.DB, func(db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			err := tx.Create(&order.Order{Status: order.Open}).Error
			exec(t, server.DSN, "SET GLOBAL read_only = 1")
			return err
		})
	})
	if !tables.NotExecuted(err) {
		t.Errorf("the COMMIT: %v", err)
	}
	if after := queryText(t, i.orders.DB, count); after != before {
		t.Errorf("%s orders, and then %s", before, after)
	}
	if _, err := i.orders.Create(t.Context()); !errors.Is(err, order.ErrNotWritten) || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("an order on a read-only server: %v", err)
	}
}
