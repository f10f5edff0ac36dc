package shop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"locklab/systems/shop"
)

// A database in memory starts empty. All instances notice it with their next calls.
func testTablesAreCreatedWhereTheyAreMissing(t *testing.T, open engine) {
	db := open(t)
	stores := []*shop.Store{shop.New(db, 0), shop.New(open(t), 0), shop.New(open(t), 0)}
	for range 3 {
		errs := together(stores, 12, func(s *shop.Store, _ uint64) error { return s.Stock(context.Background(), item, 5) })
		refused(t, errs, len(errs), nil)
		for _, table := range []string{"changes", "parcels", "handleds", "outbox", "attempts", "orders", "items"} {
			if err := db.Exec("DROP TABLE shop_" + table).Error; err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Each table alone may be lost, with those that refer to it: the next call that needs it creates it again.
func testEachLostTableIsCreatedAgain(t *testing.T, open engine) {
	db := open(t)
	s := shop.New(db, 0)
	w := shop.Worker{Name: "w", Queue: queueOf(t), Store: s, Guard: shop.OneTransaction, Idle: time.Hour}
	lost := [][]string{{}, {"items"}, {"changes"}, {"parcels"}, {"handleds"}, {"outbox"}, {"attempts"}, {"changes", "parcels", "orders"}}
	for i, tables := range lost {
		for _, table := range tables {
			if err := db.Exec("DROP TABLE shop_" + table).Error; err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Report(t.Context(), item); i < 2 && !errors.Is(err, shop.ErrNotFound) {
			t.Errorf("without items: %v", err)
		}
		if i < 2 {
			if err := s.Stock(t.Context(), item, 100); err != nil {
				t.Fatal(err)
			}
		}
		o, _, err := once(s, fmt.Sprint("key of round ", i), "buy", buys(s))
		if err == nil {
			err = s.ChangeAtomic(t.Context(), o.ID, shop.Paid)
		}
		if err != nil {
			t.Fatalf("without %v: %v", tables, err)
		}
		drain(t, w)
		if n := parcels(t, s, o.ID); n != 1 {
			t.Errorf("without %v: %d parcels", tables, n)
		}
	}
}
