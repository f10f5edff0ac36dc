package handlers_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"locklab/cache"
	"locklab/cache/variants"
	"locklab/handlers"
	"locklab/internal/testenv"
)

// A key, an id, a query or a body of 10 MB is refused by a status 4xx and a sentence, and nothing is stored. The server refuses it before
// it knows the endpoint. Each endpoint's own bounds refuse 15 KB, which net/http accepts in a header.
func TestHugeRequestsAreRefused(t *testing.T) {
	t.Parallel()
	items, log := &caches{items: make(map[uint64]cache.Item)}, &supplier{}
	s := serve(t, withShop, limited(log), func(_ *instance, cfg *handlers.Config) { cfg.Caches = items })
	s.URL = listen(t, s.Config.Handler) // as an instance serves, with its bound of the headers
	s.ask(http.MethodPost, "/orders", "")
	s.ask(http.MethodPut, "/shop/items/1", `{"stock": 5}`)
	s.ask(http.MethodPut, "/pview", `{"value": 7}`)

	lines := hugeLines(s.versions)
	for size, lines := range map[int][]string{15 << 10: lines, 10 << 20: {lines[0], lines[1], lines[2], lines[len(lines)-1]}} {
		digits := strings.Repeat("7", size)
		for _, line := range lines {
			method, path, _ := strings.Cut(strings.Replace(line, "HUGE", digits, 1), " ")
			path, body, _ := strings.Cut(path, " ")
			s.ask(method, path, body).refusesHuge(t, line, size)
		}
		path := "/v3/shop/items/1/buy?buyer=7"
		s.ask(http.MethodPost, path, "", "Idempotency-Key: "+digits).refusesHuge(t, path+" with a key", size)
	}

	s.get("/shop/items/1").is(t, http.StatusOK, map[string]any{
		"instance": "8080", "item": 1.0, "pieces": 5.0, "stock": 5.0, "sold": 0.0, "oversold": 0.0, "unaccounted": 0.0,
		"orders": 0.0, "buyers": 0.0, "versions": []any{},
	})
	s.ask(http.MethodPost, "/r3/supplier/call", "").hasHeaders(t, map[string]string{"RateLimit-Remaining": "2"}) // of three: it is the first
	if s.views.value != 7 || len(s.orders.all) != 1 || len(s.orders.attempts) != 0 || len(items.items) != 0 || len(log.calls) != 1 {
		t.Errorf("stored: %d views, %d orders, %v, %v, %v", s.views.value, len(s.orders.all), s.orders.attempts, items.items, log.calls)
	}
}

func (a answer) refusesHuge(t *testing.T, line string, size int) {
	t.Helper()
	if a.status < 400 || a.status > 499 || a.body == "" || len(a.body) > 500 {
		t.Errorf("%s of %d bytes: %d %.500s", line, size, a.status, a.body)
	} else if a.status != http.StatusRequestHeaderFieldsTooLarge { // which net/http answers as plain text
		a.fails(t, a.status)
	}
}

// hugeLines are "METHOD path body" of every endpoint that stores something or reads by an id, with something HUGE in one place.
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

// listen serves as an instance does, until the test ends.
func listen(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(testenv.Context(t))
	ended := make(chan error)
	go func() { ended <- handlers.Serve(ctx, listener, handler, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}
