package shop_test

import (
	"context"
	"testing"

	"gorm.io/gorm"

	"locklab/lab/testenv"
	"locklab/systems/shop"
)

// payAndCancel does both to a new order at one moment, and returns the order and what both were told.
func payAndCancel(t *testing.T, stores []*shop.Store, change func(*shop.Store, uint64, shop.State) error) (shop.Order, []error) {
	t.Helper()
	o, err := stores[0].BuyAtomic(t.Context(), wants(1))
	if err != nil {
		t.Fatal(err)
	}
	errs := together(stores, 2, func(s *shop.Store, n uint64) error {
		return change(s, o.ID, []shop.State{shop.Paid, shop.Cancelled}[n-1])
	})
	if o, err = stores[0].Order(t.Context(), o.ID); err != nil {
		t.Fatal(err)
	}
	return o, errs
}

func testReadAndWritePaysAndCancels(t *testing.T, open engine) {
	stocked(t, open, 5)
	dbs := []*gorm.DB{open(t), open(t)}
	stores := []*shop.Store{shop.New(dbs[0], 0), shop.New(dbs[1], 0)}
	meeting(t, 2, "shop_orders", dbs...)
	o, errs := payAndCancel(t, stores, func(s *shop.Store, id uint64, to shop.State) error {
		return s.Change(context.Background(), testenv.NoLock, id, to)
	})
	refused(t, errs, 2, nil)
	if r := report(t, stores[0]); len(o.Changes) != 2 || r.Unaccounted() != map[shop.State]int64{shop.Paid: 1}[o.State] {
		t.Errorf("%+v of %+v", r, o)
	}
}

func testAnOrderIsPaidOrCancelled(t *testing.T, open engine) {
	stores, lock := stocked(t, open, 5), testenv.Mutex()
	for name, change := range map[string]func(*shop.Store, uint64, shop.State) error{
		"lock": func(s *shop.Store, id uint64, to shop.State) error {
			return s.Change(context.Background(), lock, id, to)
		},
		"conditional UPDATE": func(s *shop.Store, id uint64, to shop.State) error {
			return s.ChangeAtomic(context.Background(), id, to)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				before := report(t, stores[0])
				o, errs := payAndCancel(t, stores, change)
				refused(t, errs, 1, shop.ErrState)
				if len(o.Changes) != 1 || o.Changes[0].To != o.State {
					t.Errorf("order %+v", o)
				}
				after := report(t, stores[0])
				if after.Stock+after.Sold != after.Pieces { // a cancelled order has given its piece back
					t.Errorf("%s: %+v, then %+v", o.State, before, after)
				}
				if err := stores[0].Stock(t.Context(), item, 5); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func testACancelledOrderGivesItsPiecesBack(t *testing.T, open engine) {
	s := stocked(t, open, 5)[0]
	p := wants(1)
	p.Quantity = 4
	o, err := s.BuyAtomic(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	sold(t, s, 4, 1)
	if err := s.ChangeAtomic(t.Context(), o.ID, shop.Cancelled); err != nil {
		t.Fatal(err)
	}
	sold(t, s, 0, 0)
	if err := s.ChangeAtomic(t.Context(), o.ID, shop.Cancelled); err == nil {
		t.Error("it was cancelled twice")
	}
	sold(t, s, 0, 0)
}
