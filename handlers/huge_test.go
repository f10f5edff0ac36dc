package handlers_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"locklab/handlers"
	"locklab/lab/testenv"
	"locklab/systems/cache"
	"locklab/systems/cache/variants"
)

// A key, an id, a query or a body that is huge gets a 4xx with a message, and nothing is stored. 10 MB are rejected before routing. 15 KB,
// which net/http accepts in a header, are rejected by the limits of each endpoint.
func TestHugeInput(t *testing.T) {
	t.Parallel()
	items, log := &fakeCaches{items: make(map[uint64]cache.Item)}, &fakeSupplier{}
	s := serve(t, withShop, withRateLimits(log), func(_ *instance, cfg *handlers.Config) { cfg.Caches = items })
	s.URL = listen(t, s.Config.Handler) // httptest would not limit the headers
	s.do(http.MethodPost, "/orders", "")
	s.do(http.MethodPut, "/shop/items/1", `{"stock": 5}`)
	s.do(http.MethodPut, "/pview", `{"value": 7}`)

	lines := hugeLines(s.versions)
	for size, lines := range map[int][]string{15 << 10: lines, 10 << 20: {lines[0], lines[1], lines[2], lines[len(lines)-1]}} {
		digits := strings.Repeat("7", size)
		for _, line := range lines {
			method, path, _ := strings.Cut(strings.Replace(line, "HUGE", digits, 1), " ")
			path, body, _ := strings.Cut(path, " ")
			s.do(method, path, body).wantRejected(t, line, size)
		}
		path := "/v3/shop/items/1/buy?buyer=7"
		s.do(http.MethodPost, path, "", "Idempotency-Key: "+digits).wantRejected(t, path+" with a key", size)
	}

	s.get("/shop/items/1").wantJSON(t, http.StatusOK, map[string]any{
		"instance": "8080", "item": 1.0, "pieces": 5.0, "stock": 5.0, "sold": 0.0, "oversold": 0.0, "unaccounted": 0.0,
		"orders": 0.0, "buyers": 0.0, "versions": []any{},
	})
	// The limit is three, so this is the first call.
	s.do(http.MethodPost, "/r3/supplier/call", "").wantHeaders(t, map[string]string{"RateLimit-Remaining": "2"})
	if s.views.value != 7 || len(s.orders.all) != 1 || len(s.orders.attempts) != 0 || len(items.items) != 0 || len(log.calls) != 1 {
		t.Errorf("stored: %d views, %d orders, %v, %v, %v", s.views.value, len(s.orders.all), s.orders.attempts, items.items, log.calls)
	}
}

// wantRejected fails unless the response is a 4xx with a short message.
func (r response) wantRejected(t *testing.T, line string, size int) {
	t.Helper()
	if r.status < 400 || r.status > 499 || r.body == "" || len(r.body) > 500 {
		t.Errorf("%s of %d bytes: %d %.500s", line, size, r.status, r.body)
	} else if r.status != http.StatusRequestHeaderFieldsTooLarge { // net/http sends that one as plain text
		r.wantError(t, r.status)
	}
}

// hugeLines returns "METHOD path body" for every endpoint that stores something or reads by an id, each with HUGE in one place.
func hugeLines(served []handlers.Version) (all []string) {
	for _, version := range served {
		v := version.Name
		all = append(
			all, "POST /"+v+"/pview HUGE", "POST /"+v+"/pview?x=HUGE", "POST /"+v+"/pview?wait=HUGE",
			"POST /"+v+"/orders/HUGE/grab?driver=1", "POST /"+v+"/orders/1/grab?driver=HUGE", "POST /"+v+"/orders/1/grab?driver=1 HUGE",
			"POST /"+v+"/shop/items/HUGE/buy?buyer=7", "POST /"+v+"/shop/items/1/buy?buyer=HUGE", "POST /"+v+"/shop/items/1/buy?buyer=7 HUGE",
			"POST /"+v+"/shop/orders/HUGE/pay", "POST /"+v+"/shop/orders/HUGE/cancel",
		)
	}
	for _, v := range variants.All() {
		all = append(all, "GET /"+v.Name+"/items/HUGE", "PUT /"+v.Name+`/items/HUGE {"text":"a"}`, "PUT /"+v.Name+`/items/7 {"text":"HUGE"}`)
	}
	return append(
		all, `PUT /pview {"value":HUGE}`, "POST /orders HUGE", "GET /orders/HUGE",
		`PUT /shop/items/HUGE {"stock":9}`, `PUT /shop/items/1 {"stock":HUGE}`,
		"GET /shop/items/HUGE", "GET /shop/orders/HUGE", "POST /shop/parcels HUGE",
		"POST /r3/supplier/call?operation=HUGE", "POST /r3/supplier/call HUGE", "GET /r3/quotes HUGE", "GET /r3/quotes?x=HUGE",
		"POST /supplier/r3/HUGE", "POST /supplier/HUGE/rates", "POST /supplier/r3/rates HUGE", "DELETE /supplier/r3/HUGE",
	)
}

// listen serves like an instance until the test ends.
func listen(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(testenv.Context(t))
	served := make(chan error)
	go func() { served <- handlers.Serve(ctx, listener, handler, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}
