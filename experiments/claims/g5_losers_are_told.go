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
	Claim:   "Each version tells a driver who does not get the order which driver has it, and A2's listing tells no driver anything.",
	Says:    "The method that grabs the order returns null. With SETNX, a driver who does not get the lock is answered immediately.",
	Errata: []experiments.Erratum{{Article: "A2", What: `
		All four of A2's implementations return null, to the losers and to the winner. Nor can a driver read the result later: the listing
		stores the status of the order, and never the driver.`}},
	Lesson: experiments.Lesson{
		Question: `
			Twenty drivers want one order, and one of them gets it. What do the other nineteen learn from the answer, and what does the winner
			learn?`,
		Predict: `
			With A2's listing: (a) The losers learn which driver has the order. (b) The winner learns it, and the losers get null. (c) All twenty
			learn nothing.`,
		Why: `
			(c). With A2's listing no driver learns anything: each implementation ends with return null, for the winner as for the losers. Only the
			log of the service says which driver has the order. Here every version stores the driver with the write that decides. So it can tell
			each loser which driver has the order.`,
		Fix: `
			Give each outcome an answer of its own: won, lost to another driver, not known. Store the winner in the write that decides. Then a
			driver whose answer was lost can read the order.`,
		Limits: `
			The run uses A2's implementation with SETNX only. That the other three return null as well is read in the listings. One process is
			enough to show it. An answer that gets lost on the way is not tried.`,
		Next: "G3-redis-lock shows how the losers wait, and G6-conditional-update how they need not. L12-unanswered-acquire loses a reply. By " +
			"hand: `app demo --keep` prints lines for curl.",
		Level: experiments.Basic,
	},
	Drawing: `
driver 1   SET NX → OK    …thinks…   the order is theirs   "null"
driver 2   SET NX → nil   "null"                            neither of them knows`,
	How: `
		20 drivers request one order simultaneously, at each version of the app, one order after the other. They do the same at a small server
		that does what A2's listing with SETNX does. The server stores the driver as well, because the run must find one winner.`,
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
	for _, name := range versions.Defaults() {
		v, _ := versions.Find(name)
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
// wait, and returns null to every driver. Unlike A2's, it stores the driver: the run must find one winner.
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
