package orders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/clients"
	"locklab/experiments/services"
	"locklab/history"
	"locklab/order"
	"locklab/stack"
	"locklab/versions"
)

var G5 = experiments.Experiment{
	ID:       "G5-losers-are-told",
	Articles: experiments.Articles{"A0", "A2"},
	Claim:    "Each version tells a loser which driver has the order, or that the lock is held, and A2's listing tells no driver anything.",
	Says: `
		A0 demands a form of the lock that does not block. A2's method that grabs the order returns null. With SETNX, a driver who does not get
		the lock is answered immediately.`,
	Errata: []experiments.Erratum{{
		Article: "A2", What: `
		All four of A2's implementations return null, to the losers and to the winner. Nor can a driver read the result later: the listing
		stores the status of the order, and never the driver.`,
		Where: "the end of each grabOrder: `戻る ヌル`; OrderServiceImpl: `注文.setStatus(1)`",
	}},
	Lesson: experiments.Lesson{
		Question: `
			Twenty drivers want one order, and one of them gets it. What do the other nineteen learn from the answer, and what does the winner
			learn? And what can a driver be told who does not wait for the lock?`,
		Predict: `
			With A2's listing: (a) The losers learn which driver has the order. (b) The winner learns it, and the losers get null. (c) All twenty
			learn nothing.`,
		Why: `
			(c). With A2's listing no driver learns anything: each implementation ends with return null, for the winner as for the losers. Only the
			log of the service says which driver has the order. Here every version stores the driver with the write that decides. So it can tell
			each loser that waits for the lock which driver has the order. A driver that does not wait comes too early for that: nothing is
			decided while the holder of the lock thinks. Its answer is 423. It says whether a request of the same instance has the lock. v3 says
			how much is left of the lease, too.`,
		Fix: `
			Give each outcome an answer of its own: won, lost to another driver, locked, not known. Store the winner in the write that decides. Then
			a driver can ask again: after a lost answer, and after a 423.`,
		Limits: `
			The run uses A2's implementation with SETNX only. That the other three return null as well is read in the listings. An answer that
			gets lost on the way is not tried. v5 to v8 do not run here: tests of the lock show that they refuse without a wait.`,
		Next: "G3-redis-lock shows how the losers wait, and G6-conditional-update how they need not. L12-unanswered-acquire loses a reply. By " +
			"hand: `app demo --keep` prints lines for curl, and with `&wait=0` at the end of the URL the driver does not wait.",
		Level: experiments.Basic,
	},
	Drawing: `
driver 1   SET NX → OK    …thinks…   the order is theirs   "null"
driver 2   SET NX → nil   "null"                            neither of them knows`,
	How: `
		20 drivers request one order simultaneously, at two instances. They do so at each version of the app, one order after the other. In one
		variant they do not wait (?wait=0). A driver who is told 423 and has won would be a violation. A2's listing with SETNX runs in
		two small servers, over the same store of orders. That store writes the driver, which A2's does not: the run must find one winner.`,
	Schedule: experiments.Schedule{Takes: 9 * time.Second},
	Check:    clients.Any(clients.Noted(burst.ToldNothing), wonWhatWasLocked),
	Variants: []experiments.Variant{
		{Name: "waits", Run: grabsOfAll("")},
		{Name: "does not wait", Run: grabsOfAll("0")},
		{Name: "A2's listing", Expect: experiments.Sometimes, Run: grabsOfListing},
	},
}

// grabsOfAll uses all versions, each for an order of its own. With a wait of 0, those with a lock must refuse somebody.
func grabsOfAll(wait string) experiments.Scenario {
	return func(ctx context.Context, t *experiments.Trial) {
		s := services.Service{Version: "v4", Wait: wait} // it starts the servers of all versions
		target := s.Start(ctx, t)
		for _, name := range versions.Defaults() {
			v, _ := versions.Find(name)
			t.Note("lab", fmt.Sprintf("%s: %s", v.Name, v.Title))
			s.Version = v.Name
			b := s.RecordGrabs(ctx, t, target)
			t.Must(b.Sound(2))
			t.Measure(v.Name, int64(len(b.Locked)), experiments.Count.Of("drivers told 423"))
			if locks := v.Name != "v0" && v.Name != "v1"; (len(b.Locked) > 0) != (locks && wait == "0") {
				t.Must(fmt.Errorf("%s told %d drivers 423", v.Name, len(b.Locked)))
			}
		}
	}
}

// wonWhatWasLocked finds drivers that have won although the answer was 423: nothing was written.
func wonWhatWasLocked(trial []history.Event) (found []history.Violation) {
	refused := make(map[string]history.Event) // by order and driver
	for _, e := range trial {
		switch told, was := refused[e.Key+e.Timeline]; {
		case e.Kind == history.Refuse:
			refused[e.Key+e.Timeline] = e
		case e.Kind == history.Win && was:
			what := fmt.Sprintf("%s was told that nothing was written, and has %s", e.Timeline, e.Key)
			found = append(found, history.Violation{Key: e.Key, What: what, Events: []int{told.Seq, e.Seq}})
		}
	}
	return found
}

// grabsOfListing is the order at two instances of A2's listing, behind the balancer.
func grabsOfListing(ctx context.Context, t *experiments.Trial) {
	x := clients.StartRedis(ctx, t)
	var instances []*stack.Instance
	for _, name := range []string{"A2-1", "A2-2"} {
		store, err := order.OpenStore(ctx, order.Config{Database: services.SQLite(t, "orders.db")})
		t.Must(err)
		t.Cleanup(store.Close)
		server := httptest.NewServer((&listing{name, x.Conn, store.Thinking(t.Scaled(services.Think))}).handler())
		t.Cleanup(func() error { server.Close(); return nil })
		instances = append(instances, &stack.Instance{URL: server.URL})
	}
	balancer, err := t.Stack.Balance("127.0.0.1:0", instances...)
	t.Must(err)
	b := services.Service{Version: "A2"}.RecordGrabs(ctx, t, burst.Target{URL: balancer.URL})
	if len(b.Failed) > 0 || b.Winners() != 1 {
		t.Must(fmt.Errorf("the order has %d winners, and %d requests failed", b.Winners(), len(b.Failed)))
	}
}

// listing is an instance with orders that drivers grab as A2 prints it. It returns null to every driver.
type listing struct {
	name   string
	redis  redis.UniversalClient
	orders *order.Store
}

// handler has the app's routes of an order.
func (l *listing) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		o, err := l.orders.Create(r.Context())
		reply(w, map[string]any{"id": o.ID}, err)
	})
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.ParseUint(r.PathValue("id"), 10, 64)
		o, err := l.orders.Get(r.Context(), id)
		reply(w, map[string]any{"winners": o.Wins}, err)
	})
	mux.HandleFunc("POST /A2/orders/{id}/grab", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.ParseUint(r.PathValue("id"), 10, 64)
		driver, err := strconv.ParseUint(r.URL.Query().Get("driver"), 10, 64)
		if err == nil {
			a := order.Attempt{OrderID: id, Driver: driver, Version: "A2", Instance: l.name}
			_, err = l.orders.Grab(r.Context(), setnx{l.redis, fmt.Sprint("order_", id), driver}, a)
		}
		reply(w, nil, err) // return null
	})
	return mux
}

func reply(w http.ResponseWriter, answer any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// setnx is the lock of the listing: the key is set NX to the driver's id. A driver who does not get it does not wait, and is told nothing.
type setnx struct {
	redis  redis.UniversalClient
	key    string
	driver uint64
}

func (l setnx) Do(ctx context.Context, _ string, fn func(ctx context.Context, token uint64) error) error {
	switch err := l.redis.Do(ctx, "SET", l.key, l.driver, "NX", "PX", 30000).Err(); {
	case errors.Is(err, redis.Nil):
		return nil
	case err != nil:
		return err
	}
	failed := fn(ctx, 0)
	if value, err := l.redis.Get(ctx, l.key).Uint64(); err != nil || value != l.driver {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, l.redis.Del(ctx, l.key).Err())
}
