package shop_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"locklab/systems/shop"
)

// All tables may be lost, as in a database in memory, or each one alone, with those that refer to it: the next call that needs it creates
// it again.
func testEachLostTableIsCreatedAgain(t *testing.T, open engine) {
	db := open(t)
	s := shop.New(db, 0)
	w := shop.Worker{Name: "w", Queue: queueOf(t), Store: s, Guard: shop.OneTransaction, Idle: time.Hour}
	if err := s.Stock(t.Context(), item, 100); err != nil {
		t.Fatal(err)
	}
	all := []string{"changes", "parcels", "handleds", "outbox", "attempts", "orders", "items"}
	lost := [][]string{all, {"items"}, {"changes"}, {"parcels"}, {"handleds"}, {"outbox"}, {"attempts"}, {"changes", "parcels", "orders"}}
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
