package handlers_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/handlers"
	"locklab/lab/testenv"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/systems/shop"
)

// withShop gives an instance a shop over SQLite and miniredis.
func withShop(s *instance, cfg *handlers.Config) {
	s.t.Helper()
	orders, err := order.OpenStore(testenv.Context(s.t), "sqlite:"+filepath.Join(s.t.TempDir(), "shop.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	conn := redis.NewClient(&redis.Options{Addr: testenv.Redis(s.t, false).Addr, MaxRetries: -1})
	s.t.Cleanup(func() { _, _ = conn.Close(), orders.Close() })
	cfg.Shop = shop.New(orders.DB, 0)
	cfg.Parcels = shop.Worker{Name: "8080", Queue: shop.Queue{Redis: conn}, Store: cfg.Shop, Guard: shop.OneTransaction, Idle: time.Hour}
}

// serveShop starts an instance with a shop that has a number of pieces of item 1 in stock.
func serveShop(t *testing.T, pieces int) *instance {
	t.Helper()
	s := serve(t, withShop)
	if got := s.do(http.MethodPut, "/shop/items/1", fmt.Sprintf(`{"stock": %d}`, pieces)); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return s
}

func TestSaleUntilSoldOut(t *testing.T) {
	s := serve(t, withShop)
	for i, version := range []string{"v0", "v1"} { // without a lock, and with one
		id := float64(i + 1)
		item := fmt.Sprintf("/shop/items/%d", i+1)
		s.do(http.MethodPut, item, `{"stock": 3}`)
		sold := map[string]any{
			"instance": "8080", "version": version, "item": id, "buyer": 7.0, "quantity": 2.0, "sold": true, "order": id, "left": 1.0,
			"why": "there was enough in stock",
		}
		s.do(http.MethodPost, "/"+version+item+"/buy?buyer=7&quantity=2", "").wantJSON(t, http.StatusCreated, sold)
		refused := map[string]any{
			"instance": "8080", "version": version, "item": id, "buyer": 8.0, "quantity": 2.0, "sold": false, "left": 1.0,
			"why": fmt.Sprintf("shop: not enough in stock: of item %d there are 1 left, and 2 were wanted", i+1),
		}
		s.do(http.MethodPost, "/"+version+item+"/buy?buyer=8&quantity=2", "").wantJSON(t, http.StatusConflict, refused)
		s.get(item).wantJSON(t, http.StatusOK, map[string]any{
			"instance": "8080", "item": id, "pieces": 3.0, "stock": 1.0, "sold": 2.0, "oversold": 0.0, "unaccounted": 0.0,
			"orders": 1.0, "buyers": 1.0, "versions": []any{version},
		})
	}
}

// The report names the versions that sold, without those of cancelled orders, and counts each piece once.
func TestSaleReport(t *testing.T) {
	s := serveShop(t, 3)
	for _, version := range []string{"v3", "v0", "v3"} {
		s.do(http.MethodPost, "/"+version+"/shop/items/1/buy?buyer=7", "")
	}
	report := func() string {
		a := s.get("/shop/items/1").json(t)
		return fmt.Sprint("stock ", a["stock"], ", sold ", a["sold"], ", unaccounted ", a["unaccounted"], ", versions ", a["versions"])
	}
	if got, want := report(), "stock 0, sold 3, unaccounted 0, versions [v0 v3]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.do(http.MethodPost, "/v3/shop/orders/2/cancel", "")
	if got, want := report(), "stock 1, sold 2, unaccounted 0, versions [v3]"; got != want {
		t.Errorf("after a cancelled order: %s, want %s", got, want)
	}
}

// With once=true a buyer can have one order of the item.
func TestOneOrderPerBuyer(t *testing.T) {
	s := serveShop(t, 9)
	for i, version := range []string{"v0", "v1"} { // by a unique key, and by a check under a lock
		buy := func(buyer int) response {
			return s.do(http.MethodPost, fmt.Sprintf("/%s/shop/items/1/buy?once=true&buyer=%d", version, buyer), "")
		}
		first, again, other := buy(10*i+7), buy(10*i+7), buy(10*i+8)
		if first.status != http.StatusCreated || other.status != http.StatusCreated {
			t.Errorf("%s: %d %s, %d %s", version, first.status, first.body, other.status, other.body)
		}
		again.wantJSON(t, http.StatusConflict, map[string]any{
			"instance": "8080", "version": version, "item": 1.0, "buyer": float64(10*i + 7), "quantity": 1.0, "sold": false,
			"why": again.json(t)["why"], // without what is left
		})
		if why, _ := again.json(t)["why"].(string); !strings.Contains(why, fmt.Sprintf("buyer %d already has an order of item 1", 10*i+7)) {
			t.Errorf("%s again: %s", version, why)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	const path, key = "/v0/shop/items/1/buy?buyer=7", "Idempotency-Key: k1"
	var store *shop.Store
	s := serve(t, withShop, func(_ *instance, cfg *handlers.Config) { store = cfg.Shop })
	s.do(http.MethodPut, "/shop/items/1", `{"stock": 5}`)
	other := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Instance, cfg.Shop = "8090", store })
	first := s.do(http.MethodPost, path, "", key)
	if first.status != http.StatusCreated || first.header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("%d %v %s", first.status, first.header, first.body)
	}
	for _, i := range []*instance{s, other} {
		again := i.do(http.MethodPost, path, "", key)
		if again.status != first.status || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("again: %d %v %s, first %s", again.status, again.header, again.body, first.body)
		}
	}
	for name, got := range map[string]response{
		"another buyer":   s.do(http.MethodPost, path+"7", "", key),
		"another body":    s.do(http.MethodPost, path, "x", key),
		"another version": s.do(http.MethodPost, "/v3/shop/items/1/buy?buyer=7", "", key),
	} {
		if got.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		got.wantError(t, http.StatusUnprocessableEntity, "belongs to another request")
	}
	if got := s.do(http.MethodPost, path, "", "Idempotency-Key: k2"); got.status != http.StatusCreated || got.body == first.body {
		t.Errorf("another key: %d %s", got.status, got.body)
	}
	for _, headers := range [][]string{
		{"Idempotency-Key: "}, {key, "Idempotency-Key: k2"}, {"Idempotency-Key: " + strings.Repeat("x", 256)},
	} {
		s.do(http.MethodPost, path, "", headers...).wantError(t, http.StatusBadRequest, "send Idempotency-Key once", "255")
	}
	if sold := s.get("/shop/items/1").json(t)["sold"]; sold != 2.0 {
		t.Errorf("%v pieces were sold", sold)
	}
}

func TestPayAndCancel(t *testing.T) {
	s := serveShop(t, 5)
	for i, version := range []string{"v0", "v1"} { // by one statement, and under a lock
		paid, cancelled := fmt.Sprintf("/shop/orders/%d", 2*i+1), fmt.Sprintf("/shop/orders/%d", 2*i+2)
		for range 2 {
			s.do(http.MethodPost, "/v0/shop/items/1/buy?buyer=7", "")
		}
		order := map[string]any{
			"instance": "8080", "order": float64(2*i + 1), "item": 1.0, "buyer": 7.0, "quantity": 1.0, "state": "paid", "changes": []any{"paid"},
			"parcels": 0.0,
		}
		s.do(http.MethodPost, "/"+version+paid+"/pay", "").wantJSON(t, http.StatusOK, order)
		for _, again := range []string{"/cancel", "/pay"} {
			s.do(http.MethodPost, "/"+version+paid+again, "").wantError(t, http.StatusConflict, fmt.Sprintf("order %d is paid", 2*i+1))
		}
		if got := s.do(http.MethodPost, "/"+version+cancelled+"/cancel", ""); got.json(t)["state"] != "cancelled" {
			t.Errorf("%d %s", got.status, got.body)
		}
		s.do(http.MethodPost, "/shop/parcels", "").wantJSON(t, http.StatusOK, map[string]any{"instance": "8080", "messages": 1.0})
		s.get(paid).wantJSON(t, http.StatusOK, withField(order, "parcels", 1.0))
		if stock := s.get("/shop/items/1").json(t)["stock"]; stock != float64(4-i) {
			t.Errorf("%s: %v pieces are in stock, want %d", version, stock, 4-i)
		}
	}
}

// While a request with a key waits for the lock, a repetition gets a 409 and does not disturb it.
func TestIdempotencyKeyInProgress(t *testing.T) {
	waiting, granted := make(chan struct{}), make(chan struct{})
	s := serve(t, withShop, func(_ *instance, cfg *handlers.Config) {
		cfg.Versions[1].Lock = guard(blockingLock{waiting, granted})
	})
	s.do(http.MethodPut, "/shop/items/1", `{"stock": 2}`)
	const path, key = "/v1/shop/items/1/buy?buyer=7", "Idempotency-Key: k1"
	first := make(chan response)
	go func() { first <- s.do(http.MethodPost, path, "", key) }()
	<-waiting
	again := s.do(http.MethodPost, path, "", key)
	again.wantError(t, http.StatusConflict, "in progress")
	again.wantHeaders(t, map[string]string{"Retry-After": "1"})
	close(granted)
	if got := <-first; got.status != http.StatusCreated {
		t.Errorf("the first request: %d %s", got.status, got.body)
	}
}

// blockingLock closes waiting when Acquire is called, and grants the lock when granted is closed.
type blockingLock struct{ waiting, granted chan struct{} }

func (l blockingLock) Acquire(ctx context.Context, key string, _ ...lockstrategy.Option) (*lockstrategy.Lease, error) {
	close(l.waiting)
	<-l.granted
	return lockstrategy.None{}.Acquire(ctx, key)
}

// A 503 after a lost lease says what may have been done.
func TestShopUnknownOutcomeAdvice(t *testing.T) {
	s := serve(t, withShop, func(_ *instance, cfg *handlers.Config) { cfg.Versions[3].Lock = guard(fakeLock{err: errLeaseLost}) })
	for path, advice := range map[string]string{
		"items/1/buy?buyer=7": "the order may have been placed",
		"orders/5/pay":        "the order may be paid: GET /shop/orders/5 shows its state",
		"orders/5/cancel":     "the order may be cancelled: GET /shop/orders/5",
	} {
		s.do(http.MethodPost, "/v3/shop/"+path, "").wantError(t, http.StatusServiceUnavailable, "lease lost", advice)
	}
}

// A payment works without Redis: its message stays in the outbox, and a worker sends it when Redis is back.
func TestPayWithoutQueue(t *testing.T) {
	var queue *redis.Client
	parcels := new(shop.Worker)
	s := serve(t, withShop, func(_ *instance, cfg *handlers.Config) {
		queue, _ = cfg.Parcels.Queue.Redis.(*redis.Client)
		closed := redis.NewClient(&redis.Options{Addr: testenv.Redis(t, false).Addr, MaxRetries: -1})
		_ = closed.Close()
		cfg.Parcels.Queue.Redis = closed
		*parcels = cfg.Parcels
	})
	s.do(http.MethodPut, "/shop/items/1", `{"stock": 1}`)
	s.do(http.MethodPost, "/v0/shop/items/1/buy?buyer=7", "")
	if got := s.do(http.MethodPost, "/v0/shop/orders/1/pay", ""); got.status != http.StatusOK || got.json(t)["state"] != "paid" {
		t.Errorf("%d %s", got.status, got.body)
	}
	s.do(http.MethodPost, "/shop/parcels", "").wantError(t, http.StatusServiceUnavailable, "after 0 messages")
	parcels.Queue.Redis = queue
	if worked, err := parcels.Next(t.Context()); !worked || err != nil {
		t.Fatalf("%v, %v", worked, err)
	}
	if n := s.get("/shop/orders/1").json(t)["parcels"]; n != 1.0 {
		t.Errorf("the order has %v parcels", n)
	}
}

func TestShopErrors(t *testing.T) {
	s := serveShop(t, 5)
	const buy = "/v0/shop/items/1/buy?"
	for _, c := range []struct {
		method, path, body string
		status             int
		want               []string // in the error
	}{
		{http.MethodPost, buy, "", http.StatusBadRequest, []string{"buyer is missing"}},
		{http.MethodPost, buy + "buyer=0", "", http.StatusBadRequest, []string{"buyer is", "whole number from 1"}},
		{http.MethodPost, buy + "buyer=1&buyer=2", "", http.StatusBadRequest, []string{"buyer is given 2 times"}},
		{http.MethodPost, buy + "buyer=1&quantity=0", "", http.StatusBadRequest, []string{"quantity is", "whole number from 1"}},
		{http.MethodPost, buy + "buyer=1&once=maybe", "", http.StatusBadRequest, []string{"once is", "true false"}},
		{http.MethodPost, "/v0/shop/items/9/buy?buyer=1", "", http.StatusNotFound, []string{"item 9", "PUT /shop/items/9", `{"stock": 100}`}},
		{http.MethodPost, "/v0/shop/items/x/buy?buyer=1", "", http.StatusBadRequest, []string{"id is"}},
		{http.MethodGet, "/shop/items/9", "", http.StatusNotFound, []string{"item 9", "PUT /shop/items/9"}},
		{http.MethodGet, "/shop/orders/9", "", http.StatusNotFound, []string{"order 9"}},
		{http.MethodPost, "/v0/shop/orders/9/pay", "", http.StatusNotFound, []string{"order 9"}},
		{http.MethodPost, "/v1/shop/orders/9/cancel", "", http.StatusNotFound, []string{"order 9"}},
		{http.MethodPut, "/shop/items/1", `{"stock": -1}`, http.StatusBadRequest, []string{`send {"stock": 0}`}},
		{http.MethodPut, "/shop/items/1", `{"value": 1}`, http.StatusBadRequest, []string{`send {"stock": 0}`}},
		{http.MethodPut, "/shop/items/1", "", http.StatusBadRequest, []string{`send {"stock": 0}`}},
		{http.MethodPut, "/shop/items/0", `{"stock": 1}`, http.StatusBadRequest, []string{"id is"}},
	} {
		s.do(c.method, c.path, c.body).wantError(t, c.status, c.want...)
	}
	if sold := s.get("/shop/items/1").json(t)["sold"]; sold != 0.0 {
		t.Errorf("%v pieces were sold", sold)
	}
}
