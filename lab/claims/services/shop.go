package services

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/lab"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lockstrategy"
	"locklab/systems/shop"
	"locklab/versions"
)

const (
	// ShopItem is the item that is sold.
	ShopItem = 1

	// KeptOut is for how long A gives B a chance to read, where something should keep B out.
	KeptOut = 300 * time.Millisecond

	// LetIn bounds A's wait for B's read, where nothing keeps B out.
	LetIn = 20 * time.Second
)

// Shop is two instances of the shop, A and B, over one database.
type Shop struct {
	*lab.Trial
	A, B *ShopInstance
}

// ShopInstance is one of them, with connections and a lock of its own: two instances are two processes to each other.
type ShopInstance struct {
	*shop.Store
	Name string // its timeline
	Lock shop.Locker
	DB   *gorm.DB

	t      *lab.Trial
	acting atomic.Bool
	table  string
	read   atomic.Pointer[func()] // is called once, after the next read of the table
}

// InShop runs a scenario in a shop over SQLite. strategy is the lock of both instances; empty: they have none.
func InShop(strategy string, pieces int64, scenario func(ctx context.Context, x *Shop)) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		scenario(ctx, NewShop(ctx, t, SQLite(t, "shop.db"), strategy, pieces))
	}
}

// InMariaDBShop is InShop over MariaDB.
func InMariaDBShop(strategy string, pieces int64, scenario func(ctx context.Context, x *Shop)) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		server, err := t.Stack.MariaDB(ctx)
		t.Must(err)
		scenario(ctx, NewShop(ctx, t, "mysql:"+server.DSN, strategy, pieces))
	}
}

// SQLite is a database in a file of the trial, as database.Open takes it.
func SQLite(t *lab.Trial, name string) string {
	return "sqlite:" + filepath.Join(t.Stack.Dir(), name)
}

// NewShop opens two instances over a database, and puts pieces on sale.
func NewShop(ctx context.Context, t *lab.Trial, url, strategy string, pieces int64) *Shop {
	x := &Shop{Trial: t, A: OpenShop(ctx, t, "A", url), B: OpenShop(ctx, t, "B", url)}
	switch strategy {
	case "":
	case versions.NameNone, versions.NameProcess:
		for _, i := range []*ShopInstance{x.A, x.B} {
			i.Lock = i.locker(clients.Open(t, i.Name, strategy, versions.Backends{}), strategy)
		}
	default:
		servers := clients.StartLock(ctx, t, strategy)
		for _, i := range []*ShopInstance{x.A, x.B} {
			i.Lock = i.locker(servers.NewClient(ctx, i.Name, clients.LongLease), strategy)
		}
	}
	t.Must(x.A.Stock(ctx, ShopItem, pieces))
	return x
}

// OpenShop opens an instance without a lock.
func OpenShop(ctx context.Context, t *lab.Trial, name, url string) *ShopInstance {
	db, err := database.Open(ctx, url)
	t.Must(err)
	t.Cleanup(db.Close)
	i := &ShopInstance{Name: name, DB: db.DB, t: t}
	i.Store = shop.New(i.DB, 0)
	callbacks := i.DB.Callback()
	t.Must(errors.Join(
		callbacks.Query().After("gorm:query").Register("lab", i.observe),
		callbacks.Create().After("gorm:create").Register("lab", i.observe),
		callbacks.Update().After("gorm:update").Register("lab", i.observe),
	))
	return i
}

// observe records a statement of an instance that acts, and calls what waits for its read.
func (i *ShopInstance) observe(tx *gorm.DB) {
	if !i.acting.Load() {
		return
	}
	statement := tx.Statement.SQL.String()
	i.t.Record(history.Event{Timeline: i.Name, Kind: history.Command, Text: shortSQL(tx.Explain(statement, tx.Statement.Vars...))})
	if strings.HasPrefix(statement, "SELECT") && tx.Statement.Table == i.table {
		if read := i.read.Swap(nil); read != nil {
			(*read)()
		}
	}
}

// shortSQL is a statement without its quotes, our prefix of the tables, and the columns of a new row.
func shortSQL(text string) string {
	text = strings.NewReplacer("`", "", `"`, "'", "shop_", "", " LIMIT 1", "").Replace(text)
	if strings.HasPrefix(text, "INSERT") {
		text, _, _ = strings.Cut(text, " (")
	}
	return text
}

// Purchase is what a buyer wants at this instance.
func (i *ShopInstance) Purchase(buyer uint64) shop.Purchase {
	return shop.Purchase{ItemID: ShopItem, Buyer: buyer, Quantity: 1, Instance: i.Name}
}

// locker makes a lock of a client, which records what happens. Without a lock nothing does, and the mutex of an instance is no lock of the
// other.
func (i *ShopInstance) locker(c *clients.Client, strategy string) shop.Locker {
	l := clients.RecordedGuard{Guard: lockstrategy.Guard{Strategy: c.Lock, Wait: clients.LongLease}, Trial: i.t, Name: i.Name}
	switch strategy {
	case versions.NameNone:
		return l.Guard
	case versions.NameProcess:
		l.Of = ", the mutex of " + i.Name
	}
	return l
}

// Measured is the lock of an instance without the records.
func (i *ShopInstance) Measured() shop.Locker {
	if recorded, ok := i.Lock.(clients.RecordedGuard); ok {
		return recorded.Guard
	}
	return i.Lock
}

// Act lets an instance act, and records a refusal. Every other error ends the trial.
func (x *Shop) Act(ctx context.Context, i *ShopInstance, act func(context.Context, *ShopInstance) error) {
	i.acting.Store(true)
	err := act(ctx, i)
	i.acting.Store(false)
	for _, refusal := range []error{shop.ErrSoldOut, shop.ErrDuplicate, shop.ErrState, shop.ErrInProgress} {
		if errors.Is(err, refusal) {
			x.Record(history.Event{Timeline: i.Name, Kind: history.Refuse, Owner: i.Name, Text: strings.TrimPrefix(err.Error(), "shop: ")})
			return
		}
	}
	x.Must(err)
}

// OnRead calls f once, after the instance's next read of a table while it acts.
func (i *ShopInstance) OnRead(table string, f func()) {
	i.table = table
	i.read.Store(&f)
}

// Beside lets A act until it has read from a table, and then B. A goes on when B has read, too, or has ended; or after a timeout, if
// something keeps B out.
func (x *Shop) Beside(ctx context.Context, table string, timeout time.Duration, act func(context.Context, *ShopInstance) error) {
	aRead, bRead, bEnded := make(chan struct{}), make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(aRead) })
	x.B.OnRead(table, func() { close(bRead) })
	x.A.OnRead(table, func() {
		release()
		select {
		case <-bRead:
		case <-bEnded:
		case <-time.After(timeout):
		}
	})
	waitForB := x.Go(func() {
		defer close(bEnded)
		<-aRead
		x.Act(ctx, x.B, act)
	})
	defer release() // also if A has not read
	x.Act(ctx, x.A, act)
	release()
	waitForB()
}

// RecordOrders records what the database has: a win for each row of the orders.
func (x *Shop) RecordOrders(ctx context.Context, won string) {
	var orders []shop.Order
	x.Must(x.A.DB.WithContext(ctx).Table("shop_orders").Where("item_id = ?", ShopItem).Order("id").Find(&orders).Error)
	if len(orders) == 0 {
		x.Must(errors.New("nobody has an order"))
	}
	for _, o := range orders {
		x.Record(history.Event{Timeline: o.Instance, Kind: history.Win, Key: won, Owner: o.Instance, Text: "in the database"})
	}
}
