package handlers_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"locklab/handlers"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/pview"
)

// locked fails unless the answer says that the lock was not granted, and exactly this about the other client.
func (a answer) locked(t *testing.T, by map[string]any) {
	t.Helper()
	fields := a.json(t)
	sentence, _ := fields["error"].(string)
	if a.header.Get("Retry-After") != "1" || !strings.Contains(sentence, "locked, and nothing was written: lock: not acquired") {
		t.Errorf("Retry-After is %q, and the sentence %q", a.header.Get("Retry-After"), sentence)
	}
	a.is(t, http.StatusLocked, map[string]any{"error": sentence, "instance": "8080", "locked": by})
}

// lockedEndpoints are the requests that take a lock, and its key.
var lockedEndpoints = map[string]string{
	"/pview":                              pview.LockKey,
	"/orders/1/grab?driver=12":            order.LockKey(1),
	"/shop/items/1/buy?buyer=7":           "lock:shop:item:{1}",
	"/shop/items/1/buy?buyer=7&once=true": "lock:shop:buyer:{7:1}",
	"/shop/orders/1/pay":                  "lock:shop:order:{1}",
	"/shop/orders/1/cancel":               "lock:shop:order:{1}",
}

// withWait adds ?wait= to a path.
func withWait(path, wait string) string {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return path + separator + "wait=" + wait
}

// While another has the key, a request that asks for a shorter wait gets 423, and nothing is written. When the key is free, it works.
func TestARequestThatDoesNotWait(t *testing.T) {
	for path, key := range lockedEndpoints {
		for _, wait := range []string{"0", "0s", "20ms"} {
			t.Run(path+" "+wait, func(t *testing.T) {
				s := onSale(t, 3)
				s.ask(http.MethodPost, "/orders", "")
				s.ask(http.MethodPost, "/v0/shop/items/1/buy?buyer=9", "")
				before := s.get("/shop/items/1").body + s.get("/shop/orders/1").body
				lease, err := s.cohort.Acquire(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				s.ask(http.MethodPost, withWait("/v2"+path, wait), "").locked(t, map[string]any{"by": "this instance"})
				if took := time.Since(began); took > longestWait/2 {
					t.Errorf("it waited %s", took)
				}
				after := s.get("/shop/items/1").body + s.get("/shop/orders/1").body
				if before != after || s.views.value != 0 || len(s.orders.attempts) != 0 {
					t.Errorf("%d views and %v attempts; before %s, and after %s", s.views.value, s.orders.attempts, before, after)
				}
				if err := lease.Release(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := s.ask(http.MethodPost, withWait("/v2"+path, wait), ""); got.status >= 300 {
					t.Errorf("the key is free: %d %s", got.status, got.body)
				}
			})
		}
	}
}

// Every version refuses a wait that it cannot have, those without a lock, too: a client learns it from each.
func TestBadWaits(t *testing.T) {
	s := onSale(t, 3)
	s.ask(http.MethodPost, "/orders", "")
	for path := range lockedEndpoints {
		for _, v := range s.versions {
			for _, wait := range []string{"-1ns", "61s", "5", "", "soon", "0,5s", "1e3s", "9999999h", "%00"} {
				got := s.ask(http.MethodPost, withWait("/"+v.Name+path, wait), "")
				got.fails(t, http.StatusBadRequest, "wait is", "a duration from 0 to 1m0s, such as 0, 250ms")
			}
			s.ask(http.MethodPost, withWait(withWait("/"+v.Name+path, "0"), "1s"), "").fails(t, http.StatusBadRequest, "wait is given 2 times")
		}
	}
	if s.views.value != 0 || len(s.orders.attempts) != 0 || s.get("/shop/items/1").json(t)["orders"] != 0.0 {
		t.Errorf("%d views, and the attempts %v", s.views.value, s.orders.attempts)
	}
}

// The instance's own wait is the longest that is allowed. v0 and v1 have nothing to wait for.
func TestWaitsThatWork(t *testing.T) {
	s := onSale(t, 100)
	for _, v := range s.versions {
		for _, wait := range []string{"0", "1ns", longestWait.String()} {
			if got := s.ask(http.MethodPost, withWait("/"+v.Name+"/pview", wait), ""); v.Name != "v2" && got.status != http.StatusOK {
				t.Errorf("%s, %s: %d %s", v.Name, wait, got.status, got.body)
			}
		}
	}
}

// The answer of the lock decides. Only a request with a bound of its own gets 423, and only if the lock has said that it is held.
func TestWhatIsLocked(t *testing.T) {
	other := func(left time.Duration) error { return lockstrategy.OtherHolder{Left: left} }
	for name, test := range map[string]struct {
		err error
		by  map[string]any // nil: it is not locked
	}{
		"another, for a while": {
			refused(fmt.Errorf("%w: %w", lockstrategy.ErrTaken, other(1500*time.Millisecond))),
			map[string]any{"by": "another client", "lease_ms": 1500.0},
		},
		"another":                  {refused(fmt.Errorf("%w: %w", tooLong, other(0))), map[string]any{"by": "another client"}},
		"before the first attempt": {refused(tooLong), map[string]any{"by": "unknown"}},
		"the server is away":       {refused(lockAway), nil},
		"the server is slow":       {refused(fmt.Errorf("%w: %w", lockSlow, other(0))), nil},
		"the lease was lost":       {leaseLost, nil},
	} {
		s := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Versions[3].Lock = guarded(lock{err: test.err}) })
		got := s.ask(http.MethodPost, "/v3/pview?wait=250ms", "")
		if test.by != nil {
			got.locked(t, test.by)
		} else if got.status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		got = s.ask(http.MethodPost, "/v3/pview", "")
		if !errors.Is(test.err, lockstrategy.ErrTaken) && got.status != http.StatusServiceUnavailable {
			t.Errorf("%s, without a bound: %d %s", name, got.status, got.body)
		}
	}
}

// A purchase that did not wait may be repeated with its key and another wait: it is the same purchase.
func TestAnIdempotencyKeyKnowsNoWait(t *testing.T) {
	s := onSale(t, 3)
	const path, key = "/v2/shop/items/1/buy?buyer=7", "Idempotency-Key: k1"
	lease, err := s.cohort.Acquire(t.Context(), "lock:shop:item:{1}")
	if err != nil {
		t.Fatal(err)
	}
	s.ask(http.MethodPost, path+"&wait=0", "", key).locked(t, map[string]any{"by": "this instance"})
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := s.ask(http.MethodPost, path, "", key)
	again := s.ask(http.MethodPost, path+"&wait=1s", "", key)
	if first.status != http.StatusCreated || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%d %s; and then %d %s", first.status, first.body, again.status, again.body)
	}
	s.ask(http.MethodPost, path+"&quantity=2", "", key).fails(t, http.StatusUnprocessableEntity)
}
