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
	for _, version := range []string{"v0", "v1", "v2", "v3", "v4"} {
		s := serveShop(t, 3)
		sold := map[string]any{
			"instance": "8080", "version": version, "item": 1.0, "buyer": 7.0, "quantity": 2.0, "sold": true, "order": 1.0, "left": 1.0,
			"why": "there was enough in stock",
		}
		s.do(http.MethodPost, "/"+version+"/shop/items/1/buy?buyer=7&quantity=2", "").wantJSON(t, http.StatusCreated, sold)
		refused := map[string]any{
			"instance": "8080", "version": version, "item": 1.0, "buyer": 8.0, "quantity": 2.0, "sold": false, "left": 1.0,
			"why": "shop: not enough in stock: of item 1 there are 1 left, and 2 were wanted",
		}
		s.do(http.MethodPost, "/"+version+"/shop/items/1/buy?buyer=8&quantity=2", "").wantJSON(t, http.StatusConflict, refused)
		s.get("/shop/items/1").wantJSON(t, http.StatusOK, map[string]any{
			"instance": "8080", "item": 1.0, "pieces": 3.0, "stock": 1.0, "sold": 2.0, "oversold": 0.0, "unaccounted": 0.0,
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
	for _, version := range []string{"v0", "v1", "v3"} {
		s := serveShop(t, 3)
		path := "/" + version + "/shop/items/1/buy?once=true&buyer="
		if got := s.do(http.MethodPost, path+"7", ""); got.status != http.StatusCreated {
			t.Errorf("%d %s", got.status, got.body)
		}
		got := s.do(http.MethodPost, path+"7", "")
		why, _ := got.json(t)["why"].(string)
		_, hasLeft := got.json(t)["left"]
		if got.status != http.StatusConflict || !strings.Contains(why, "buyer 7 already has an order of item 1") || hasLeft {
			t.Errorf("%s again: %d %s", version, got.status, got.body)
		}
		if got := s.do(http.MethodPost, path+"8", ""); got.status != http.StatusCreated {
			t.Errorf("%d %s", got.status, got.body)
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
	for _, version := range []string{"v0", "v1", "v3"} {
		s := serveShop(t, 5)
		for range 2 {
			s.do(http.MethodPost, "/v0/shop/items/1/buy?buyer=7", "")
		}
		paid := map[string]any{
			"instance": "8080", "order": 1.0, "item": 1.0, "buyer": 7.0, "quantity": 1.0, "state": "paid", "changes": []any{"paid"}, "parcels": 0.0,
		}
		s.do(http.MethodPost, "/"+version+"/shop/orders/1/pay", "").wantJSON(t, http.StatusOK, paid)
		s.do(http.MethodPost, "/"+version+"/shop/orders/1/cancel", "").wantError(t, http.StatusConflict, "order 1 is paid")
		s.do(http.MethodPost, "/"+version+"/shop/orders/1/pay", "").wantError(t, http.StatusConflict, "order 1 is paid")
		if got := s.do(http.MethodPost, "/"+version+"/shop/orders/2/cancel", ""); got.json(t)["state"] != "cancelled" {
			t.Errorf("%d %s", got.status, got.body)
		}
		s.do(http.MethodPost, "/shop/parcels", "").wantJSON(t, http.StatusOK, map[string]any{"instance": "8080", "messages": 1.0})
		s.get("/shop/orders/1").wantJSON(t, http.StatusOK, withField(paid, "parcels", 1.0))
		if stock := s.get("/shop/items/1").json(t)["stock"]; stock != 4.0 {
			t.Errorf("%v pieces are in stock, want 4", stock)
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

// A 503 after a lost lease says that the order may have been placed.
func TestSaleUnknownOutcomeAdvice(t *testing.T) {
	s := serve(t, withShop, func(_ *instance, cfg *handlers.Config) { cfg.Versions[3].Lock = guard(fakeLock{err: errLeaseLost}) })
	s.do(http.MethodPut, "/shop/items/1", `{"stock": 2}`)
	got := s.do(http.MethodPost, "/v3/shop/items/1/buy?buyer=7", "")
	got.wantError(t, http.StatusServiceUnavailable, "lease lost", "the order may have been placed")
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
		{http.MethodPost, buy + "buyer=1&quantity=", "", http.StatusBadRequest, []string{"quantity is"}},
		{http.MethodPost, buy + "buyer=1&quantity=-1", "", http.StatusBadRequest, []string{"quantity is"}},
		{http.MethodPost, buy + "buyer=1&once=maybe", "", http.StatusBadRequest, []string{"once is", "true false"}},
		{http.MethodPost, "/v0/shop/items/9/buy?buyer=1", "", http.StatusNotFound, []string{"item 9", "PUT /shop/items/9", `{"stock": 100}`}},
		{http.MethodPost, "/v1/shop/items/9/buy?buyer=1", "", http.StatusNotFound, []string{"item 9", "PUT /shop/items/9"}},
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
		t.Run(c.method+" "+c.path+c.body, func(t *testing.T) { s.do(c.method, c.path, c.body).wantError(t, c.status, c.want...) })
	}
	if sold := s.get("/shop/items/1").json(t)["sold"]; sold != 0.0 {
		t.Errorf("%v pieces were sold", sold)
	}
}

func TestStockRequiresAdminToken(t *testing.T) {
	s := serve(t, withShop, func(_ *instance, cfg *handlers.Config) { cfg.AdminToken = token })
	s.do(http.MethodPut, "/shop/items/1", `{"stock": 1}`).wantError(t, http.StatusUnauthorized, "admin token")
	if got := s.do(http.MethodPut, "/shop/items/1", `{"stock": 1}`, "Authorization: Bearer "+token); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}
