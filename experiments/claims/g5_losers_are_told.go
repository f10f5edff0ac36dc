package claims

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/kit"
	"locklab/versions"
)

var _ = register(experiments.Experiment{
	ID:      "G5-losers-are-told",
	Article: "A2",
	Claim: `
		Every driver who does not get the order is told so, and which driver has it; with A2's listing no driver is told anything.`,
	Says: "A driver who does not get the lock returns immediately: the method that grabs the order returns null.",
	Errata: []experiments.Erratum{{Article: "A2", What: `
		A2's form without waiting immediately returns null to every loser. It returns null to the winner, too: only a log says which driver has
		the order.`}},
	Drawing: `
driver 1   SET NX → OK    …thinks…   the order is theirs   "null"
driver 2   SET NX → nil   "null"                            neither of them knows`,
	How: `
		20 drivers request one order simultaneously, at each version of the app, one order after the other. They do the same at a small server
		that does what A2's listing does.`,
	Takes: 4 * time.Second,
	Check: kit.Noted(burst.ToldNothing),
	Variants: []experiments.Variant{
		{Name: "v0 to v4", Run: grabsOfAll},
		{Name: "A2's listing", Expect: experiments.Sometimes, Run: grabsOfListing},
	},
})

// grabsOfAll uses all versions, each for an order of its own.
func grabsOfAll(ctx context.Context, t *experiments.Trial) {
	s := kit.Service{Version: "v4"} // it starts the servers of all versions
	target := s.Start(ctx, t)
	for _, v := range versions.All() {
		t.Note("lab", fmt.Sprintf("%s: %s", v.Name, v.Title))
		s.Version = v.Name
		s.Grab(ctx, t, target)
	}
}

// grabsOfListing is the order at A2's listing. One process is enough to show it.
func grabsOfListing(ctx context.Context, t *experiments.Trial) {
	l := &listing{redis: kit.StartRedis(ctx, t).Conn}
	server := httptest.NewServer(l.handler())
	t.Cleanup(func() error { server.Close(); return nil })
	b := kit.RecordGrabs(ctx, t, burst.Target{URL: server.URL}, "A2", burst.Simultaneous)
	if len(b.Failed) > 0 || b.Winners() != 1 {
		t.Must(fmt.Errorf("the order has %d winners, and %d requests failed", b.Winners(), len(b.Failed)))
	}
}

// listing is a server with one order, which drivers grab as A2 prints it. It sets the key NX to the driver's id, does not
// wait, and returns null to every driver.
type listing struct {
	redis  redis.UniversalClient
	driver atomic.Uint64 // that has the order; 0: it is open
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
	time.Sleep(kit.Think)
	if open {
		l.driver.Store(driver)
	}
	if value, err := l.redis.Get(ctx, key).Uint64(); err != nil || value != driver {
		return err
	}
	return l.redis.Del(ctx, key).Err() // and return null
}
