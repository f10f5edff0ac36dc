package shop_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gorm.io/gorm"

	"locklab/internal/database"
	"locklab/lab/servers"
	"locklab/lab/testenv"
	"locklab/systems/shop"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// engine opens one more connection to the test's database.
type engine func(t *testing.T) *gorm.DB

// engines runs test over SQLite, which is always there, and over MariaDB.
func engines(t *testing.T, test func(t *testing.T, open engine)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, onSQLite(t)) })
	t.Run("mariadb", func(t *testing.T) { test(t, onMariaDB(t)) })
}

func onSQLite(t *testing.T) engine {
	where := "sqlite:" + filepath.Join(t.TempDir(), "shop.db")
	return func(t *testing.T) *gorm.DB { return connect(t, where) }
}

var (
	sharedMariaDB = testenv.Shared[*servers.Database]{
		Need:  testenv.MariaDB,
		Start: func(ctx context.Context, s *servers.Stack) (*servers.Database, error) { return s.MariaDB(ctx) },
	}
	databases atomic.Int64 // on that server
)

// onMariaDB creates a database of its own.
func onMariaDB(t *testing.T) engine {
	t.Helper()
	dsn, name := sharedMariaDB.Of(t).DSN, fmt.Sprintf("shop_%d", databases.Add(1))
	if err := connect(t, "mysql:"+dsn).Exec("CREATE DATABASE " + name).Error; err != nil {
		t.Fatal(err)
	}
	where := "mysql:" + dsn[:strings.LastIndex(dsn, "/")+1] + name
	return func(t *testing.T) *gorm.DB { return connect(t, where) }
}

func TestShop(t *testing.T) {
	engines(t, func(t *testing.T, open engine) {
		for _, c := range []struct {
			name string
			test func(t *testing.T, open engine)
		}{
			{"stock is not oversold", testStockIsNotOversold},
			{"without a lock stock is oversold", testWithoutALockStockIsOversold},
			{"bad input changes nothing", testBadInputChangesNothing},
			{"what is not there", testWhatIsNotThere},
			{"stock removes what was sold", testStockRemovesWhatWasSold},
			{"a lost lock writes nothing", testALostLockWritesNothing},
			{"a statement that is refused", testAStatementThatIsRefused},
			{"a change that is refused", testAChangeThatIsRefused},
			{"each lost table is created again", testEachLostTableIsCreatedAgain},
			{"a lock without a check makes two orders", testALockWithoutACheckMakesTwoOrders},
			{"a check without a lock makes two orders", testACheckWithoutALockMakesTwoOrders},
			{"one order of two submissions", testOneOrderOfTwoSubmissions},
			{"an idempotency key replays", testAnIdempotencyKeyReplays},
			{"an idempotency key in progress", testAnIdempotencyKeyInProgress},
			{"an attempt is taken over", testAnAttemptIsTakenOver},
			{"two attempts make one order", testTwoAttemptsMakeOneOrder},
			{"a failed attempt forgets its key", testAFailedAttemptForgetsItsKey},
			{"an attempt without an answer is replayed", testAnAttemptWithoutAnAnswerIsReplayed},
			{"read and write pays and cancels", testReadAndWritePaysAndCancels},
			{"an order is paid or cancelled", testAnOrderIsPaidOrCancelled},
			{"a cancelled order gives its pieces back", testACancelledOrderGivesItsPiecesBack},
		} {
			t.Run(c.name, func(t *testing.T) { c.test(t, open) })
		}
	})
}

// connect opens a database as an instance does.
func connect(t *testing.T, where string) *gorm.DB {
	t.Helper()
	db, err := database.Open(testenv.Context(t), where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db.DB
}

// meeting lets the first n reads of a table return together: nobody writes before all of them have read.
func meeting(t *testing.T, n int, table string, dbs ...*gorm.DB) {
	t.Helper()
	var mu sync.Mutex
	here, all := 0, make(chan struct{})
	for _, db := range dbs {
		err := db.Callback().Query().After("gorm:query").Register("meeting", func(tx *gorm.DB) {
			if tx.Statement.Table != table {
				return
			}
			mu.Lock()
			if here++; here == n {
				close(all)
			}
			early := here <= n
			mu.Unlock()
			if early {
				<-all
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

const item = 7

// stocked opens two stores, as two instances have them, and puts pieces on sale.
func stocked(t *testing.T, open engine, pieces int64) []*shop.Store {
	t.Helper()
	stores := []*shop.Store{shop.New(open(t), 0), shop.New(open(t), 0)}
	if err := stores[0].Stock(t.Context(), item, pieces); err != nil {
		t.Fatal(err)
	}
	return stores
}

func wants(buyer uint64) shop.Purchase {
	return shop.Purchase{ItemID: item, Buyer: buyer, Quantity: 1, Version: "v3", Instance: "a"}
}

func report(t *testing.T, s *shop.Store) shop.Report {
	t.Helper()
	r, err := s.Report(t.Context(), item)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sold fails unless so many pieces were sold to so many buyers, and the stock agrees.
func sold(t *testing.T, s *shop.Store, pieces, buyers int64) {
	t.Helper()
	if r := report(t, s); r.Sold != pieces || r.Buyers != buyers || r.Stock != r.Pieces-pieces || r.Unaccounted() != 0 {
		t.Errorf("%+v; want %d pieces of %d buyers", r, pieces, buyers)
	}
}

// together calls try for the buyers 1 to n at one moment, over all stores in turn, and returns their errors.
func together(stores []*shop.Store, n int, try func(*shop.Store, uint64) error) []error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = try(stores[i%len(stores)], uint64(i+1)) })
	}
	group.Wait()
	return errs
}

// refused fails unless so many errors are nil, and the others are want.
func refused(t *testing.T, errs []error, nils int, want error) {
	t.Helper()
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
		} else if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if n != nils {
		t.Errorf("%d succeeded, want %d", n, nils)
	}
}

func testStockIsNotOversold(t *testing.T, open engine) {
	lock := testenv.Mutex()
	for name, buy := range map[string]func(*shop.Store, uint64) error{
		"under a lock": func(s *shop.Store, b uint64) error { _, err := s.Buy(context.Background(), lock, wants(b)); return err },
		"FOR UPDATE": func(s *shop.Store, b uint64) error {
			_, err := s.BuyForUpdate(context.Background(), wants(b))
			return err
		},
		"atomic": func(s *shop.Store, b uint64) error { _, err := s.BuyAtomic(context.Background(), wants(b)); return err },
	} {
		t.Run(name, func(t *testing.T) {
			stores := stocked(t, open, 5)
			refused(t, together(stores, 20, buy), 5, shop.ErrSoldOut)
			sold(t, stores[0], 5, 5)
		})
	}
}

func testWithoutALockStockIsOversold(t *testing.T, open engine) {
	dbs := []*gorm.DB{open(t), open(t)}
	stores := []*shop.Store{shop.New(dbs[0], 0), shop.New(dbs[1], 0)}
	if err := stores[0].Stock(t.Context(), item, 1); err != nil {
		t.Fatal(err)
	}
	meeting(t, 2, "shop_items", dbs...)
	refused(t, together(stores, 2, func(s *shop.Store, b uint64) error {
		_, err := s.Buy(context.Background(), testenv.NoLock, wants(b))
		return err
	}), 2, nil)
	if r := report(t, stores[0]); r.Sold != 2 || r.Pieces != 1 || r.Stock != 0 || r.Unaccounted() != 1 {
		t.Errorf("%+v; want both to have the one piece", r)
	}
}

// The lock inside of a transaction is released before the COMMIT.
func TestALockInsideATransactionProtectsNothing(t *testing.T) {
	open := onMariaDB(t)
	a, b := open(t), open(t)
	first, second := shop.New(a, 0), shop.New(b, 0)
	if err := first.Stock(t.Context(), item, 1); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	if err := b.Callback().Query().After("gorm:query").Register("read", func(*gorm.DB) { close(read) }); err != nil {
		t.Fatal(err)
	}
	lock := testenv.Mutex()
	other := make(chan error, 1)
	err := a.Transaction(func(tx *gorm.DB) error {
		_, err := shop.New(tx, 0).Buy(t.Context(), lock, wants(1))
		go func() { _, err := second.Buy(context.Background(), lock, wants(2)); other <- err }()
		<-read // before the COMMIT
		return err
	})
	if err := errors.Join(err, <-other); err != nil {
		t.Fatal(err)
	}
	if err := b.Callback().Query().Remove("read"); err != nil {
		t.Fatal(err)
	}
	if r := report(t, first); r.Sold != 2 {
		t.Errorf("%+v; want both to have the one piece", r)
	}
}

func testBadInputChangesNothing(t *testing.T, open engine) {
	s := stocked(t, open, 5)[0]
	for _, quantity := range []int64{0, -1, -1 << 62} {
		p := wants(1)
		p.Quantity = quantity
		for name, buy := range map[string]func() (shop.Order, error){
			"Buy":          func() (shop.Order, error) { return s.Buy(t.Context(), testenv.NoLock, p) },
			"BuyForUpdate": func() (shop.Order, error) { return s.BuyForUpdate(t.Context(), p) },
			"BuyAtomic":    func() (shop.Order, error) { return s.BuyAtomic(t.Context(), p) },
			"Submit":       func() (shop.Order, error) { return s.Submit(t.Context(), testenv.NoLock, p, true) },
			"SubmitUnique": func() (shop.Order, error) { return s.SubmitUnique(t.Context(), p) },
		} {
			if _, err := buy(); !errors.Is(err, shop.ErrInvalid) {
				t.Errorf("%s of %d: %v", name, quantity, err)
			}
		}
	}
	if err := s.Stock(t.Context(), item, -1); !errors.Is(err, shop.ErrInvalid) {
		t.Errorf("negative stock: %v", err)
	}
	sold(t, s, 0, 0)
}

func testWhatIsNotThere(t *testing.T, open engine) {
	s := stocked(t, open, 5)[0]
	p := wants(1)
	p.ItemID++
	for name, call := range map[string]func() error{
		"Buy":          func() error { _, err := s.Buy(t.Context(), testenv.NoLock, p); return err },
		"BuyForUpdate": func() error { _, err := s.BuyForUpdate(t.Context(), p); return err },
		"BuyAtomic":    func() error { _, err := s.BuyAtomic(t.Context(), p); return err },
		"SubmitUnique": func() error { _, err := s.SubmitUnique(t.Context(), p); return err },
		"Report":       func() error { _, err := s.Report(t.Context(), p.ItemID); return err },
		"Order":        func() error { _, err := s.Order(t.Context(), 99); return err },
		"Change":       func() error { return s.Change(t.Context(), testenv.NoLock, 99, shop.Paid) },
		"ChangeAtomic": func() error { return s.ChangeAtomic(t.Context(), 99, shop.Paid) },
	} {
		if err := call(); !errors.Is(err, shop.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A new stock begins a new sale.
func testStockRemovesWhatWasSold(t *testing.T, open engine) {
	s := stocked(t, open, 3)[0]
	for buyer := range uint64(2) {
		if _, err := s.SubmitUnique(t.Context(), wants(buyer+1)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := once(s, "k", "buy", buys(s)); err != nil {
		t.Fatal(err)
	}
	if err := s.Stock(t.Context(), item, 3); err != nil {
		t.Fatal(err)
	}
	sold(t, s, 0, 0)
	if _, err := s.SubmitUnique(t.Context(), wants(1)); err != nil {
		t.Errorf("the buyer of the last sale: %v", err)
	}
	if _, replayed, err := once(s, "k", "buy", buys(s)); err != nil || replayed {
		t.Errorf("the key of the last sale: replayed %v, %v", replayed, err)
	}
}

// Without a connection nothing is written. A request with a key may be a repetition, and then the first one has placed the order.
func TestASaleWithoutAConnection(t *testing.T) {
	testenv.Needs(t, testenv.MariaDB)
	server, err := testenv.Stack(t).MariaDB(testenv.Context(t))
	if err != nil {
		t.Fatal(err)
	}
	s := shop.New(connect(t, "mysql:"+server.DSN), 0)
	if err := s.Stock(t.Context(), item, 5); err != nil {
		t.Fatal(err)
	}
	if _, _, err := once(s, "k", "buy", buys(s)); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	_, locked := s.Buy(t.Context(), testenv.NoLock, wants(1))
	_, conditional := s.BuyAtomic(t.Context(), wants(1))
	_, _, again := once(s, "k", "buy", buys(s))
	_, read := s.Report(t.Context(), item)
	for name, c := range map[string]struct {
		err        error
		notWritten bool
	}{
		"a lock": {locked, true}, "one statement": {conditional, true}, "the payment": {s.ChangeAtomic(t.Context(), 1, shop.Paid), true},
		"the same key": {again, true}, "the report": {read, true}, "the tables": {s.CreateTables(t.Context()), false},
	} {
		if !errors.Is(c.err, shop.ErrUnavailable) || errors.Is(c.err, shop.ErrNotWritten) != c.notWritten {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}

// Nothing is written when the lock is lost after the read, and the error says so.
func testALostLockWritesNothing(t *testing.T, open engine) {
	stocked(t, open, 5)
	s, lost := shop.New(open(t), time.Minute), errors.New("lost")
	_, err := s.Buy(t.Context(), testenv.LockerFunc(func(ctx context.Context, _ string, fn func(context.Context, uint64) error) error {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Millisecond, func() { cancel(lost) })
		return fn(ctx, 1)
	}), wants(1))
	if !errors.Is(err, lost) || !errors.Is(err, context.Canceled) || errors.Is(err, shop.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	sold(t, s, 0, 0)
}

// Whichever statement the database refuses, the buyer is told, and nothing is sold.
func testAStatementThatIsRefused(t *testing.T, open engine) {
	db := open(t)
	s := shop.New(db, 0)
	if err := s.Stock(t.Context(), item, 9); err != nil {
		t.Fatal(err)
	}
	statements, bought := testenv.WatchStatements(t, db), int64(0)
	for name, buy := range map[string]func(p shop.Purchase) error{
		"buy":            func(p shop.Purchase) error { _, err := s.Buy(t.Context(), testenv.NoLock, p); return err },
		"buy for update": func(p shop.Purchase) error { _, err := s.BuyForUpdate(t.Context(), p); return err },
		"buy atomic":     func(p shop.Purchase) error { _, err := s.BuyAtomic(t.Context(), p); return err },
		"submit":         func(p shop.Purchase) error { _, err := s.Submit(t.Context(), testenv.NoLock, p, true); return err },
		"submit unique":  func(p shop.Purchase) error { _, err := s.SubmitUnique(t.Context(), p); return err },
		"once": func(p shop.Purchase) error {
			_, _, err := s.Once(t.Context(), "k", "buy", time.Hour, func(a *shop.Attempt) (shop.Order, error) {
				p.Attempt = a
				return s.BuyAtomic(t.Context(), p)
			})
			return err
		},
	} {
		buys := func() error { return buy(wants(uint64(bought + 1))) }
		statements.RefuseEach(t, name, shop.ErrUnavailable, buys, func() { sold(t, s, bought, bought) })
		bought++
		sold(t, s, bought, bought)
	}
	replays := func() error {
		_, _, err := s.Once(t.Context(), "k", "buy", time.Hour, func(*shop.Attempt) (shop.Order, error) { return shop.Order{}, errDown })
		return err
	}
	statements.RefuseEach(t, "once again", shop.ErrUnavailable, replays, func() { sold(t, s, bought, bought) })
}

// Whichever statement the database refuses, the state of the order stays.
func testAChangeThatIsRefused(t *testing.T, open engine) {
	db := open(t)
	s := shop.New(db, 0)
	if err := s.Stock(t.Context(), item, 9); err != nil {
		t.Fatal(err)
	}
	statements := testenv.WatchStatements(t, db)
	for name, change := range map[string]func(id uint64) error{
		"pay":    func(id uint64) error { return s.Change(t.Context(), testenv.NoLock, id, shop.Paid) },
		"cancel": func(id uint64) error { return s.ChangeAtomic(t.Context(), id, shop.Cancelled) },
	} {
		placed, err := s.BuyAtomic(t.Context(), wants(1))
		if err != nil {
			t.Fatal(err)
		}
		changes := func() error { return change(placed.ID) }
		statements.RefuseEach(t, name, shop.ErrUnavailable, changes, func() {
			if order, err := s.Order(t.Context(), placed.ID); err != nil || order.State != shop.Placed {
				t.Errorf("%s: %+v, %v", name, order, err)
			}
		})
	}
}
