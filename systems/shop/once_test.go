package shop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"

	"locklab/lab/testenv"
	"locklab/systems/shop"
)

// submit is one submission of buyer 1.
func submit(lock shop.Locker, check bool) func(*shop.Store, uint64) error {
	return func(s *shop.Store, _ uint64) error {
		_, err := s.Submit(context.Background(), lock, wants(1), check)
		return err
	}
}

func testALockWithoutACheckMakesTwoOrders(t *testing.T, open engine) {
	stores := stocked(t, open, 5)
	refused(t, together(stores, 2, submit(testenv.Mutex(), false)), 2, nil)
	sold(t, stores[0], 2, 1)
}

func testACheckWithoutALockMakesTwoOrders(t *testing.T, open engine) {
	stocked(t, open, 5)
	dbs := []*gorm.DB{open(t), open(t)}
	stores := []*shop.Store{shop.New(dbs[0], 0), shop.New(dbs[1], 0)}
	meeting(t, 2, "shop_orders", dbs...)
	refused(t, together(stores, 2, submit(testenv.NoLock, true)), 2, nil)
	sold(t, stores[0], 2, 1)
}

func testOneOrderOfTwoSubmissions(t *testing.T, open engine) {
	for name, try := range map[string]func(*shop.Store, uint64) error{
		"lock and check": submit(testenv.Mutex(), true),
		"unique key": func(s *shop.Store, _ uint64) error {
			_, err := s.SubmitUnique(context.Background(), wants(1))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			stores := stocked(t, open, 5)
			refused(t, together(stores, 6, try), 1, shop.ErrDuplicate)
			refused(t, together(stores, 2, try), 0, shop.ErrDuplicate)
			sold(t, stores[0], 1, 1)
		})
	}
}

// once sends a request with a key. A request that fails has no order, and repeats nothing.
func once(s *shop.Store, key, content string, buy func(shop.Purchase) (shop.Order, error)) (shop.Order, bool, error) {
	order, replayed, err := s.Once(context.Background(), key, content, time.Minute, func(a *shop.Attempt) (shop.Order, error) {
		p := wants(1)
		p.Attempt = a
		return buy(p)
	})
	if err != nil && (replayed || order.ID != 0) {
		err = fmt.Errorf("replayed: %v, %+v, and %s", replayed, order, err.Error()) // not wrapped: errors.Is must not match
	}
	return order, replayed, err
}

func buys(s *shop.Store) func(shop.Purchase) (shop.Order, error) {
	return func(p shop.Purchase) (shop.Order, error) { return s.BuyAtomic(context.Background(), p) }
}

func testAnIdempotencyKeyReplays(t *testing.T, open engine) {
	stores := stocked(t, open, 5)
	first, replayed, err := once(stores[0], "k", "buy 1", buys(stores[0]))
	if err != nil || replayed {
		t.Fatal(replayed, err)
	}
	again, replayed, err := once(stores[1], "k", "buy 1", buys(stores[1]))
	if err != nil || !replayed || again.ID != first.ID || again.Left != first.Left {
		t.Errorf("got %+v, %v, %v; want %+v", again, replayed, err, first)
	}
	if _, _, err := once(stores[1], "k", "buy 2", buys(stores[1])); !errors.Is(err, shop.ErrKeyReused) {
		t.Errorf("another request: %v", err)
	}
	sold(t, stores[0], 1, 1)
	if other, replayed, err := once(stores[0], "K", "buy 1", buys(stores[0])); err != nil || replayed || other.ID == first.ID {
		t.Errorf("another key: %+v, %v, %v", other, replayed, err)
	}
}

func testAnIdempotencyKeyInProgress(t *testing.T, open engine) {
	stores := stocked(t, open, 5)
	_, _, err := once(stores[0], "k", "buy", func(p shop.Purchase) (shop.Order, error) {
		if _, _, err := once(stores[1], "k", "buy", buys(stores[1])); !errors.Is(err, shop.ErrInProgress) {
			t.Errorf("beside an attempt: %v", err)
		}
		return stores[0].BuyAtomic(t.Context(), p)
	})
	if err != nil {
		t.Fatal(err)
	}
	sold(t, stores[0], 1, 1)
}

// An attempt whose process hangs is taken over. When it continues, its order is rolled back.
func testAnAttemptIsTakenOver(t *testing.T, open engine) {
	stores := stocked(t, open, 5)
	var second shop.Order
	_, _, err := stores[0].Once(t.Context(), "k", "buy", 0, func(a *shop.Attempt) (shop.Order, error) {
		var err error
		if second, _, err = once(stores[1], "k", "buy", buys(stores[1])); err != nil {
			t.Fatal(err)
		}
		p := wants(1)
		p.Attempt = a
		return stores[0].BuyAtomic(t.Context(), p)
	})
	if !errors.Is(err, shop.ErrInProgress) {
		t.Errorf("the attempt that was taken over: %v", err)
	}
	sold(t, stores[0], 1, 1)
	if again, replayed, err := once(stores[0], "k", "buy", buys(stores[0])); err != nil || !replayed || again.ID != second.ID {
		t.Errorf("got %+v, %v, %v; want %+v", again, replayed, err, second)
	}
}

// The same, while the second attempt is still in progress.
func testTwoAttemptsMakeOneOrder(t *testing.T, open engine) {
	stores := stocked(t, open, 5)
	_, _, err := stores[0].Once(t.Context(), "k", "buy", 0, func(a *shop.Attempt) (shop.Order, error) {
		_, _, err := once(stores[1], "k", "buy", func(p shop.Purchase) (shop.Order, error) {
			old := wants(1)
			old.Attempt = a
			if _, err := stores[0].BuyAtomic(t.Context(), old); !errors.Is(err, shop.ErrInProgress) {
				t.Errorf("the attempt that was taken over: %v", err)
			}
			return stores[1].BuyAtomic(t.Context(), p)
		})
		return shop.Order{}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	sold(t, stores[0], 1, 1)
}

func testAFailedAttemptForgetsItsKey(t *testing.T, open engine) {
	s := stocked(t, open, 0)[0]
	if _, _, err := once(s, "k", "buy", buys(s)); !errors.Is(err, shop.ErrSoldOut) {
		t.Errorf("got %v", err)
	}
	if err := s.Stock(t.Context(), item, 1); err != nil {
		t.Fatal(err)
	}
	if _, replayed, err := once(s, "k", "buy", buys(s)); err != nil || replayed {
		t.Errorf("got %v, %v", replayed, err)
	}
	ctx, leave := context.WithCancel(t.Context())
	_, _, err := s.Once(ctx, "left", "buy", time.Hour, func(*shop.Attempt) (shop.Order, error) {
		leave() // the buyer disconnects while it waits for the lock
		return shop.Order{}, ctx.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, _, err := once(s, "left", "buy", buys(s)); !errors.Is(err, shop.ErrSoldOut) {
		t.Errorf("the key of a buyer that left: got %v", err)
	}
}

// An order whose answer is lost after the COMMIT is there, and the repetition returns it.
func testAnAttemptWithoutAnAnswerIsReplayed(t *testing.T, open engine) {
	s := stocked(t, open, 5)[0]
	lost := errors.New("no answer")
	_, _, err := once(s, "k", "buy", func(p shop.Purchase) (shop.Order, error) {
		_, err := s.BuyAtomic(t.Context(), p)
		return shop.Order{}, errors.Join(err, lost)
	})
	if !errors.Is(err, lost) {
		t.Fatal(err)
	}
	if _, replayed, err := once(s, "k", "buy", buys(s)); err != nil || !replayed {
		t.Errorf("got %v, %v", replayed, err)
	}
	sold(t, s, 1, 1)
}
