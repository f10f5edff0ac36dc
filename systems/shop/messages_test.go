package shop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"gorm.io/gorm"

	"locklab/lab/testenv"
	"locklab/systems/shop"
)

// queue connects to a Redis of its own.
func queue(t *testing.T, real bool) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: testenv.Redis(t, real).Addr, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func queueOf(t *testing.T) shop.Queue { return shop.Queue{Redis: queue(t, false)} }

// paid makes an order and publishes its message so often.
func paid(t *testing.T, s *shop.Store, q shop.Queue, times int) uint64 {
	t.Helper()
	o, err := s.BuyAtomic(t.Context(), wants(1))
	for range times {
		err = errors.Join(err, q.Publish(t.Context(), o.ID))
	}
	if err != nil {
		t.Fatal(err)
	}
	return o.ID
}

func parcels(t *testing.T, s *shop.Store, id uint64) int {
	t.Helper()
	o, err := s.Order(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return len(o.Parcels)
}

// drain lets a worker work until nothing is left, and returns how many messages it had.
func drain(t *testing.T, w shop.Worker) (n int) {
	t.Helper()
	for {
		worked, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !worked {
			return n
		}
		if n++; n > 100 {
			t.Fatal("messages come back for ever")
		}
	}
}

// failing is a hook that fails commands with a name, before they are sent, while it is on.
type failing struct {
	name string
	on   bool
}

var errDown = errors.New("down")

func (f *failing) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f *failing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f *failing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if f.on && cmd.Name() == f.name {
			cmd.SetErr(errDown)
			return errDown
		}
		return next(ctx, cmd)
	}
}

func TestMessages(t *testing.T) {
	t.Run("miniredis and sqlite", func(t *testing.T) { testMessages(t, false, onSQLite(t)) })
	t.Run("redis-server and mariadb", func(t *testing.T) {
		testenv.Needs(t, testenv.RedisServer)
		testMessages(t, true, onMariaDB(t))
	})
}

func testMessages(t *testing.T, real bool, open engine) {
	for name, test := range map[string]func(t *testing.T, conn *redis.Client, db *gorm.DB){
		"each message is worked on": testEachMessageIsWorkedOn, "a message that comes twice": testAMessageThatComesTwice,
		"a message without its order": testAMessageWithoutItsOrder, "a paid order has one parcel": testAPaidOrderHasOneParcel,
		"workers share the outbox": testWorkersShareTheOutbox, "an order that is gone owes nothing": testAnOrderThatIsGoneOwesNothing,
		"one message is taken over": testOneMessageIsTakenOver,
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			if err := shop.New(db, 0).Stock(t.Context(), item, 100); err != nil {
				t.Fatal(err)
			}
			test(t, queue(t, real), db)
		})
	}
}

func testEachMessageIsWorkedOn(t *testing.T, conn *redis.Client, db *gorm.DB) {
	s, q := shop.New(db, 0), shop.Queue{Redis: conn}
	for _, guard := range []shop.Guard{shop.NoGuard, shop.MarkBefore, shop.MarkAfter, shop.OneTransaction} {
		w := shop.Worker{Name: "w", Queue: q, Store: s, Guard: guard, Idle: time.Hour}
		id := paid(t, s, q, 1)
		if n := drain(t, w); n != 1 || parcels(t, s, id) != 1 {
			t.Errorf("%s: %d messages, %d parcels", guard, n, parcels(t, s, id))
		}
		pending, left := conn.XPending(t.Context(), "shop:paid", "parcels").Val(), conn.XLen(t.Context(), "shop:paid").Val()
		if pending.Count != 0 || left != 0 {
			t.Errorf("%s: left are %+v", guard, pending)
		}
		mark := conn.TTL(t.Context(), fmt.Sprint("shop:handled:", id)).Val()
		if marks := guard == shop.MarkBefore || guard == shop.MarkAfter; (mark > time.Hour) != marks || mark > 25*time.Hour || mark == -1 {
			t.Errorf("%s: its mark in Redis ends after %s", guard, mark)
		}
	}
}

// A message comes twice: it was published twice, its acknowledgement failed, or its work failed.
func testAMessageThatComesTwice(t *testing.T, conn *redis.Client, db *gorm.DB) {
	s, q := shop.New(db, 0), shop.Queue{Redis: conn}
	noAcks, workFails, noMarks := &failing{name: "xack"}, false, &failing{}
	conn.AddHook(noAcks)
	conn.AddHook(noMarks)
	if err := db.Callback().Create().After("gorm:create").Register("fail", func(tx *gorm.DB) {
		if workFails && tx.Statement.Table == "shop_parcels" {
			_ = tx.AddError(errDown)
		}
	}); err != nil {
		t.Fatal(err)
	}
	for guard, want := range map[shop.Guard]struct{ published, unacknowledged, failed int }{
		shop.NoGuard: {2, 2, 1}, shop.MarkBefore: {1, 1, 0}, shop.MarkAfter: {1, 1, 1}, shop.OneTransaction: {1, 1, 1},
	} {
		first := shop.Worker{Name: "first", Queue: q, Store: s, Guard: guard, Idle: time.Hour}
		id := paid(t, s, q, 2)
		if drain(t, first); parcels(t, s, id) != want.published {
			t.Errorf("%s, published twice: %d parcels, want %d", guard, parcels(t, s, id), want.published)
		}

		id, noAcks.on = paid(t, s, q, 1), true
		fails(t, first)
		noAcks.on = false
		takenOver(t, first, id, want.unacknowledged)

		id, workFails = paid(t, s, q, 1), true
		fails(t, first)
		workFails = false
		takenOver(t, first, id, want.failed)

		if noMarks.name = map[shop.Guard]string{shop.MarkBefore: "set", shop.MarkAfter: "exists"}[guard]; noMarks.name != "" {
			id, noMarks.on = paid(t, s, q, 1), true
			fails(t, first)
			noMarks.on = false
			takenOver(t, first, id, 1)
		}
		if err := s.Stock(t.Context(), item, 5); err != nil {
			t.Fatal(err)
		}
	}
}

// fails fails unless a worker's message does.
func fails(t *testing.T, w shop.Worker) {
	t.Helper()
	if worked, err := w.Next(t.Context()); worked || !errors.Is(err, shop.ErrUnavailable) {
		t.Errorf("%s: %v, %v; want ErrUnavailable", w.Guard, worked, err)
	}
}

// takenOver fails unless another worker gets the message, only when it has been idle for long enough, and leaves so many parcels.
func takenOver(t *testing.T, first shop.Worker, id uint64, want int) {
	t.Helper()
	if n := drain(t, first); n != 0 {
		t.Errorf("%s: it came back before it was idle", first.Guard)
	}
	second := first
	second.Name, second.Idle = "second", 0
	if n := drain(t, second); n != 1 || parcels(t, first.Store, id) != want {
		t.Errorf("%s: %d messages, %d parcels, want %d", first.Guard, n, parcels(t, first.Store, id), want)
	}
}

// A worker takes over one message of a worker that died. The others are left to other workers.
func testOneMessageIsTakenOver(t *testing.T, conn *redis.Client, db *gorm.DB) {
	s, q := shop.New(db, 0), shop.Queue{Redis: conn}
	for range 3 {
		paid(t, s, q, 1)
		if err := taken(t, conn); err != nil {
			t.Fatal(err)
		}
	}
	if worked, err := (shop.Worker{Name: "w", Queue: q, Store: s, Guard: shop.OneTransaction}).Next(t.Context()); !worked || err != nil {
		t.Fatalf("%v, %v", worked, err)
	}
	if left := conn.XPending(t.Context(), "shop:paid", "parcels").Val(); left.Consumers["dead"] != 2 {
		t.Errorf("left are %+v", left)
	}
}

// A message about an order that was removed does not come back for ever.
func testAMessageWithoutItsOrder(t *testing.T, conn *redis.Client, db *gorm.DB) {
	s, q := shop.New(db, 0), shop.Queue{Redis: conn}
	gone := paid(t, s, q, 1)
	if err := s.Stock(t.Context(), item, 5); err != nil {
		t.Fatal(err)
	}
	id := paid(t, s, q, 1)
	n := drain(t, shop.Worker{Name: "w", Queue: q, Store: s, Guard: shop.OneTransaction})
	if n != 2 || parcels(t, s, id) != 1 || gone == id {
		t.Errorf("%d messages, %d parcels", n, parcels(t, s, id))
	}
}

func TestARedisThatIsAway(t *testing.T) {
	testenv.Engines(t, func(t *testing.T, real bool) {
		node := testenv.Redis(t, real)
		conn := redis.NewClient(&redis.Options{Addr: node.Addr, MaxRetries: -1, DialerRetries: 1})
		defer conn.Close()
		q := shop.Queue{Redis: conn}
		node.Kill()
		_, err := shop.Worker{Name: "w", Queue: q}.Next(t.Context())
		if published := q.Publish(t.Context(), 1); !errors.Is(err, shop.ErrUnavailable) || !errors.Is(published, shop.ErrUnavailable) {
			t.Errorf("got %v and %v", err, published)
		}
	})
}
