package shop_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/lab/testenv"
	"locklab/systems/shop"
)

// pay makes an order and pays it. The message is not sent.
func pay(t *testing.T, s *shop.Store, how func(id uint64) error) uint64 {
	t.Helper()
	o, err := s.BuyAtomic(t.Context(), wants(1))
	if err == nil {
		err = how(o.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o.ID
}

// A paid order has exactly one parcel, whatever became of its message.
func testAPaidOrderHasOneParcel(t *testing.T, conn *redis.Client, db *gorm.DB) {
	s := shop.New(db, 0)
	w := shop.Worker{Name: "w", Queue: shop.Queue{Redis: conn}, Store: s, Guard: shop.OneTransaction, Idle: time.Hour}
	fates := fatesOfAMessage(t, conn, w)
	for how, pays := range map[string]func(id uint64) error{
		"under a lock":         func(id uint64) error { return s.Change(t.Context(), testenv.Mutex(), id, shop.Paid) },
		"by a condition":       func(id uint64) error { return s.ChangeAtomic(t.Context(), id, shop.Paid) },
		"twice, without guard": func(id uint64) error { return paysTwice(t, db, id) },
	} {
		for name, becomes := range fates {
			id := pay(t, s, pays)
			if err := becomes(id); err != nil {
				t.Fatal(err)
			}
			drain(t, w)
			for range 2 { // nothing comes back
				if n := parcels(t, s, id); n != 1 {
					t.Errorf("paid %s, the message is %s: %d parcels", how, name, n)
				}
				w.Idle = 0
				drain(t, w)
				w.Idle = time.Hour
			}
			var left int64
			if err := db.Table("shop_outbox").Count(&left).Error; err != nil || left > 0 {
				t.Errorf("paid %s, the message is %s: %d messages are left, %v", how, name, left, err)
			}
		}
	}
}

// fatesOfAMessage are what may become of the message of a paid order before a worker has it.
func fatesOfAMessage(t *testing.T, conn *redis.Client, w shop.Worker) map[string]func(id uint64) error {
	q, noAdds := w.Queue, &failing{name: "xadd"}
	conn.AddHook(noAdds)
	return map[string]func(id uint64) error{
		"never sent": func(uint64) error { return nil },
		"refused by Redis": func(uint64) error {
			noAdds.on = true
			defer func() { noAdds.on = false }()
			fails(t, w)
			return nil
		},
		"sent":       func(id uint64) error { return q.Publish(t.Context(), id) },
		"sent twice": func(id uint64) error { return errors.Join(q.Publish(t.Context(), id), q.Publish(t.Context(), id)) },
		"lost by Redis": func(id uint64) error {
			return errors.Join(q.Publish(t.Context(), id), conn.FlushAll(t.Context()).Err())
		},
		"lost by Redis while a worker has it": func(id uint64) error {
			return errors.Join(q.Publish(t.Context(), id), taken(t, conn), conn.FlushAll(t.Context()).Err())
		},
		"taken by a worker that died": func(id uint64) error {
			return errors.Join(q.Publish(t.Context(), id), taken(t, conn))
		},
	}
}

// paysTwice is what two clients do without a lock, when both have read that the order is placed.
func paysTwice(t *testing.T, db *gorm.DB, id uint64) error {
	stores := []*shop.Store{shop.New(db, 0), shop.New(db, 0)}
	err := stores[0].Change(t.Context(), testenv.NoLock, id, shop.Paid)
	if err == nil {
		err = db.Exec("UPDATE shop_orders SET state = 'placed' WHERE id = ?", id).Error
	}
	return errors.Join(err, stores[1].Change(t.Context(), testenv.NoLock, id, shop.Paid))
}

// taken lets another worker take a message and do nothing with it.
func taken(t *testing.T, conn *redis.Client) error {
	_ = conn.XGroupCreateMkStream(t.Context(), "shop:paid", "parcels", "0").Err() // it may be there
	return conn.XReadGroup(t.Context(), &redis.XReadGroupArgs{
		Group: "parcels", Consumer: "dead", Streams: []string{"shop:paid", ">"}, Count: 1, Block: -1,
	}).Err()
}

// Several workers find the message in the outbox, and one packs.
func testWorkersShareTheOutbox(t *testing.T, conn *redis.Client, db *gorm.DB) {
	s, q := shop.New(db, 0), shop.Queue{Redis: conn}
	var ids []uint64
	for range 5 {
		ids = append(ids, pay(t, s, func(id uint64) error { return s.ChangeAtomic(t.Context(), id, shop.Paid) }))
	}
	stores := []*shop.Store{shop.New(db, 0), shop.New(db, 0)}
	refused(t, together(stores, 6, func(s *shop.Store, n uint64) error {
		w := shop.Worker{Name: string(rune('a' + n)), Queue: q, Store: s, Guard: shop.OneTransaction, Idle: time.Hour}
		for worked, err := w.Next(context.Background()); ; worked, err = w.Next(context.Background()) {
			if err != nil || !worked {
				return err
			}
		}
	}), 6, nil)
	for _, id := range ids {
		if n := parcels(t, s, id); n != 1 {
			t.Errorf("order %d has %d parcels", id, n)
		}
	}
}

// An order that a new stock removes owes nothing, and one whose row was removed by hand does not come back for ever.
func testAnOrderThatIsGoneOwesNothing(t *testing.T, conn *redis.Client, db *gorm.DB) {
	s := shop.New(db, 0)
	w := shop.Worker{Name: "w", Queue: shop.Queue{Redis: conn}, Store: s, Guard: shop.OneTransaction, Idle: time.Hour}
	pays := func(id uint64) error { return s.ChangeAtomic(t.Context(), id, shop.Paid) }
	pay(t, s, pays)
	if err := s.Stock(t.Context(), item, 5); err != nil {
		t.Fatal(err)
	}
	if n := drain(t, w); n != 0 {
		t.Errorf("%d messages about orders that a new stock has removed", n)
	}
	id := pay(t, s, pays)
	for _, statement := range []string{"DELETE FROM shop_changes WHERE order_id = ?", "DELETE FROM shop_orders WHERE id = ?"} {
		if err := db.Exec(statement, id).Error; err != nil {
			t.Fatal(err)
		}
	}
	if n := drain(t, w); n != 1 {
		t.Errorf("%d messages about an order that is gone, want 1", n)
	}
}
