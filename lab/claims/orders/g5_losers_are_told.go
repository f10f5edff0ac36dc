package orders

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/claims/services"
	"locklab/lab/clients"
	"locklab/lab/history"
	"locklab/lab/servers"
	"locklab/order"
	"locklab/versions"
)

var G5 = Experiments.Add(lab.Experiment{
	ID:       "G5-losers-are-told",
	Articles: lab.Articles{"A0", "A2"},
	Claim:    "Each version tells a loser which driver has the order, or that the lock is held, and A2's listing tells no driver anything.",
	Level:    lab.Basic,
	Schedule: lab.Schedule{Takes: 9 * time.Second},
	Check:    clients.Any(clients.Noted(burst.ToldNothing), wonWhatWasLocked),
	Variants: []lab.Variant{
		{Name: "waits", Run: grabsOfAll("")},
		{Name: "does not wait", Run: grabsOfAll("0")},
		{Name: "A2's listing", Expect: lab.Sometimes, Run: grabsOfListing},
	},
})

// grabsOfAll uses all versions, each for an order of its own. With a wait of 0, those with a lock must refuse somebody.
func grabsOfAll(wait string) lab.Scenario {
	return func(ctx context.Context, t *lab.Trial) {
		s := services.Service{Version: "v4", Wait: wait} // it starts the servers of all versions
		target := s.Start(ctx, t)
		for _, name := range versions.DefaultNames() {
			v, _ := versions.Find(name)
			t.Note("lab", fmt.Sprintf("%s: %s", v.Name, v.Title))
			s.Version = v.Name
			b := s.RecordGrabs(ctx, t, target)
			t.Must(b.Sound(2))
			t.Measure(v.Name, int64(len(b.Locked)), lab.Count.Of("drivers told 423"))
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
func grabsOfListing(ctx context.Context, t *lab.Trial) {
	x, think := clients.StartRedis(ctx, t), t.Scaled(services.Think)
	target := startListing(ctx, t, func(ctx context.Context, orders *order.Store, a order.Attempt) (told any, err error) {
		_, err = orders.WithThinkTime(think).Grab(ctx, setnx{x.Conn, fmt.Sprint("order_", a.OrderID), a.Driver}, a)
		return nil, err // return null
	})
	b := services.Service{Version: listed}.RecordGrabs(ctx, t, target)
	if len(b.Failed) > 0 || b.Winners() != 1 {
		t.Must(fmt.Errorf("the order has %d winners, and %d requests failed", b.Winners(), len(b.Failed)))
	}
}

// listed is the version of A2's listings, in the paths of their instances.
const listed = "A2"

var listingInstances = []string{"A2-1", "A2-2"}

// grabListed grabs an order as a listing prints it, and returns what the driver is told.
type grabListed = func(ctx context.Context, orders *order.Store, a order.Attempt) (told any, err error)

// startListing starts two instances of a listing behind the balancer.
func startListing(ctx context.Context, t *lab.Trial, grab grabListed) burst.Target {
	var instances []*servers.Instance
	for _, name := range listingInstances {
		store, err := order.OpenStore(ctx, services.SQLite(t, "orders.db"))
		t.Must(err)
		t.Cleanup(store.Close)
		server := httptest.NewServer((&listing{name, store, grab}).handler())
		t.Cleanup(func() error { server.Close(); return nil })
		instances = append(instances, &servers.Instance{URL: server.URL})
	}
	balancer, err := t.Stack.Balance("127.0.0.1:0", instances...)
	t.Must(err)
	return burst.Target{URL: balancer.URL}
}

// listing is an instance with orders that drivers grab as A2 prints it.
type listing struct {
	name   string
	orders *order.Store
	grab   grabListed
}

// handler has the app's routes of an order.
func (l *listing) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		o, err := l.orders.Create(r.Context())
		services.Reply(w, map[string]any{"id": o.ID}, err)
	})
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.ParseUint(r.PathValue("id"), 10, 64)
		o, err := l.orders.Get(r.Context(), id)
		services.Reply(w, map[string]any{"winners": o.Wins}, err)
	})
	mux.HandleFunc("POST /"+listed+"/orders/{id}/grab", func(w http.ResponseWriter, r *http.Request) {
		id, _ := strconv.ParseUint(r.PathValue("id"), 10, 64)
		driver, err := strconv.ParseUint(r.URL.Query().Get("driver"), 10, 64)
		var told any
		if err == nil {
			told, err = l.grab(r.Context(), l.orders, order.Attempt{OrderID: id, Driver: driver, Version: listed, Instance: l.name})
		}
		if _, is := told.(refusal); is && err == nil {
			w.WriteHeader(http.StatusLocked)
		}
		services.Reply(w, told, err)
	})
	return mux
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
