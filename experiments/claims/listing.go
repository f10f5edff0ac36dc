package claims

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/burst"
)

// listing is a server with one order, which it lets drivers grab as A2 prints it: SET NX with the driver as the value,
// without waiting, and null for everybody.
type listing struct {
	redis  redis.UniversalClient
	driver atomic.Uint64 // who has the order; 0: it is open
}

// grabsOfListing is the order at A2's listing. It is one process: what it shows needs no more.
func grabsOfListing(ctx context.Context, t *experiments.Trial) error {
	_, client, err := single(ctx, t)
	if err != nil {
		return err
	}
	target, err := serve(t, (&listing{redis: client}).handler())
	if err != nil {
		return err
	}
	b, err := burst.RunGrabs(ctx, target, "A2", drivers, burst.Simultaneous)
	if err != nil {
		return err
	}
	record(t, later(t, b.Began, b.Events)...)
	record(t, b.Wins...)
	if len(b.Failed) > 0 || b.Winners() != 1 {
		return fmt.Errorf("the order has %d winners, and %d requests failed", b.Winners(), len(b.Failed))
	}
	return nil
}

// handler has the app's routes of an order.
func (l *listing) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id": 1}`) })
	mux.HandleFunc("GET /orders/1", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"winners": [{"driver": %d, "instance": "A2"}]}`, l.driver.Load())
	})
	mux.HandleFunc("POST /A2/orders/1/grab", func(w http.ResponseWriter, r *http.Request) {
		driver, err := strconv.ParseUint(r.URL.Query().Get("driver"), 10, 64)
		if err == nil {
			err = l.grab(r.Context(), driver)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, "null")
	})
	return mux
}

// grab is the listing.
func (l *listing) grab(ctx context.Context, driver uint64) error {
	const key = "order_1"
	switch err := l.redis.Do(ctx, "SET", key, driver, "NX", "PX", 30000).Err(); {
	case errors.Is(err, redis.Nil):
		return nil // return null
	case err != nil:
		return err
	}
	open := l.driver.Load() == 0
	time.Sleep(think)
	if open {
		l.driver.Store(driver)
	}
	if value, err := l.redis.Get(ctx, key).Uint64(); err != nil || value != driver {
		return err
	}
	return l.redis.Del(ctx, key).Err() // and return null
}

// serve lets a handler listen until the trial is over.
func serve(t *experiments.Trial, h http.Handler) (burst.Target, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return burst.Target{}, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	t.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(server.Close)
	t.Cleanup(func() error { http.DefaultClient.CloseIdleConnections(); return nil })
	return burst.Target{URL: "http://" + listener.Addr().String()}, nil
}
