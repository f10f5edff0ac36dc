package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/lockstrategy"
	"locklab/lockstrategy/sqllock"
	"locklab/order"
	"locklab/systems/cache"
	"locklab/systems/shop"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// password is the password of the database user. No error and no name may contain it.
const password = "hunter2"

// maxCallTime is longer than any call takes, and shorter than the timeout of a test.
const maxCallTime = 30 * time.Second

func sqlite(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "orders.db") }

// createForUser creates a database, and a user of it without administrative rights.
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

func exec(t *testing.T, dsn, statement string) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
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

// open opens a database that is closed with the test.
func open(t *testing.T, url string) *database.Database {
	t.Helper()
	db, err := database.Open(testenv.Context(t), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// instance is everything that an instance keeps in a database.
type instance struct {
	orders *order.Store
	lock   lockstrategy.Guard // v5
	shop   *shop.Store
	items  *cache.Database
}

func newInstance(t *testing.T, where string) instance {
	t.Helper()
	db := open(t, where)
	lock, lockErr := sqllock.New(db.DB, db.Name, lockstrategy.Timing{})
	orders, ordersErr := order.NewStore(testenv.Context(t), db)
	items, itemsErr := cache.NewDatabase(t.Context(), db.DB, 0)
	if err := errors.Join(lockErr, ordersErr, itemsErr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	return instance{orders, lockstrategy.Guard{Strategy: lock, Wait: maxCallTime}, shop.New(db.DB, 0), items}
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

func testTwoInstances(t *testing.T, one, two instance) {
	t.Helper()
	created, err := one.orders.Create(t.Context())
	if err := errors.Join(err, one.shop.Stock(t.Context(), 1, 100)); err != nil {
		t.Fatal(err)
	}
	for n, i := range []instance{one, two, one, two} {
		if err := i.write(t.Context(), created.ID, uint64(n+1)); err != nil {
			t.Errorf("write %d: %v", n+1, err)
		}
	}
	o, orderErr := two.orders.Get(t.Context(), created.ID)
	report, reportErr := two.shop.Report(t.Context(), 1)
	item, getErr := two.items.Get(t.Context(), 1)
	got := fmt.Sprintf("driver %d, %d win, sold %d, left %d, the text %q of version %d, %v",
		o.Driver, len(o.Wins), report.Sold, report.Stock, item.Text, item.Version, errors.Join(orderErr, reportErr, getErr))
	if want := `driver 1, 1 win, sold 12, left 88, the text "семь" of version 4, <nil>`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
