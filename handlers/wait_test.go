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

// wantLocked fails unless the response says that the lock was not granted, and describes its holder like this.
func (r response) wantLocked(t *testing.T, holder map[string]any) {
	t.Helper()
	fields := r.json(t)
	message, _ := fields["error"].(string)
	if r.header.Get("Retry-After") != "1" || !strings.Contains(message, "locked, and nothing was written: lock: not acquired") {
		t.Errorf("Retry-After is %q, the error is %q", r.header.Get("Retry-After"), message)
	}
	r.wantJSON(t, http.StatusLocked, map[string]any{"error": message, "instance": "8080", "locked": holder})
}

// lockedEndpoints are the requests that take a lock, with its key.
var lockedEndpoints = map[string]string{
	"/pview":                              pview.LockKey,
	"/orders/1/grab?driver=12":            order.LockKey(1),
	"/shop/items/1/buy?buyer=7":           "lock:shop:item:{1}",
	"/shop/items/1/buy?buyer=8&once=true": "lock:shop:buyer:{8:1}",
	"/shop/orders/1/pay":                  "lock:shop:order:{1}",
	"/shop/orders/2/cancel":               "lock:shop:order:{2}",
}

// withWait adds ?wait= to a path.
func withWait(path, wait string) string {
	separator := "?"
	if strings.Contains(path, "?") {
		separator = "&"
	}
	return path + separator + "wait=" + wait
}

// While the lock is held, a request with a short wait gets a 423, and nothing is written. After the release it works.
func TestShortWait(t *testing.T) {
	s := serveShop(t, 9)
	s.do(http.MethodPost, "/orders", "")
	for range 2 {
		s.do(http.MethodPost, "/v0/shop/items/1/buy?buyer=9", "")
	}
	written := func() string {
		return s.get("/shop/items/1").body + s.get("/shop/orders/1").body + s.get("/shop/orders/2").body +
			fmt.Sprint(s.views.value, s.orders.attempts)
	}
	for path, key := range lockedEndpoints {
		before := written()
		lease, err := s.queue.Acquire(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for _, wait := range []string{"0", "20ms"} {
			start := time.Now()
			s.do(http.MethodPost, withWait("/v2"+path, wait), "").wantLocked(t, map[string]any{"by": "this instance"})
			if took := time.Since(start); took > maxWait/2 {
				t.Errorf("%s waited %s", path, took)
			}
		}
		if after := written(); before != after {
			t.Errorf("%s: before %s, after %s", path, before, after)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.do(http.MethodPost, withWait("/v2"+path, "0"), ""); got.status >= 300 {
			t.Errorf("%s after the release: %d %s", path, got.status, got.body)
		}
	}
}

// The instance's own wait is the longest allowed one. Every version rejects an invalid wait, also one without a lock.
func TestInvalidWait(t *testing.T) {
	s := serveShop(t, 3)
	s.do(http.MethodPost, "/orders", "")
	for path := range lockedEndpoints {
		for _, version := range []string{"v0", "v1"} {
			for _, wait := range []string{"-1ns", "61s", "5", "", "soon", "1e3s", "9999999h", "%00"} {
				got := s.do(http.MethodPost, withWait("/"+version+path, wait), "")
				got.wantError(t, http.StatusBadRequest, "wait is", "it must be a duration")
			}
			twice := withWait(withWait("/"+version+path, "0"), "1s")
			s.do(http.MethodPost, twice, "").wantError(t, http.StatusBadRequest, "wait is given 2 times")
		}
	}
	if s.views.value != 0 || len(s.orders.attempts) != 0 || s.get("/shop/items/1").json(t)["orders"] != 0.0 {
		t.Errorf("%d views, attempts %v", s.views.value, s.orders.attempts)
	}
	for _, path := range []string{"/v0/pview?wait=0", "/v1/pview?wait=1ns", "/v1/pview?wait=" + maxWait.String()} {
		if got := s.do(http.MethodPost, path, ""); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// Only a request that sets its wait gets a 423, and only if the lock is known to be held or was not tried.
func TestLockedResponse(t *testing.T) {
	otherHolder := func(left time.Duration) error { return lockstrategy.OtherHolder{Left: left} }
	for name, test := range map[string]struct {
		err    error
		holder map[string]any // nil: not a 423
	}{
		"another client, with a lease": {
			notAcquired(fmt.Errorf("%w: %w", lockstrategy.ErrTaken, otherHolder(1500*time.Millisecond))),
			map[string]any{"by": "another client", "lease_ms": 1500.0},
		},
		"another client":           {notAcquired(fmt.Errorf("%w: %w", errWaited, otherHolder(0))), map[string]any{"by": "another client"}},
		"before the first attempt": {notAcquired(errWaited), map[string]any{"by": "unknown"}},
		"the server is down":       {notAcquired(errLockDown), nil},
		"the server is slow":       {notAcquired(fmt.Errorf("%w: %w", errLockSlow, otherHolder(0))), nil},
		"the lease was lost":       {errLeaseLost, nil},
	} {
		s := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Versions[3].Lock = guard(fakeLock{err: test.err}) })
		got := s.do(http.MethodPost, "/v3/pview?wait=250ms", "")
		if test.holder != nil {
			got.wantLocked(t, test.holder)
		} else if got.status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		got = s.do(http.MethodPost, "/v3/pview", "")
		if !errors.Is(test.err, lockstrategy.ErrTaken) && got.status != http.StatusServiceUnavailable {
			t.Errorf("%s, without a wait: %d %s", name, got.status, got.body)
		}
	}
}

// A purchase may be repeated with the same key and another wait: it is the same purchase.
func TestIdempotencyKeyIgnoresWait(t *testing.T) {
	s := serveShop(t, 3)
	const path, key = "/v2/shop/items/1/buy?buyer=7", "Idempotency-Key: k1"
	lease, err := s.queue.Acquire(t.Context(), "lock:shop:item:{1}")
	if err != nil {
		t.Fatal(err)
	}
	s.do(http.MethodPost, path+"&wait=0", "", key).wantLocked(t, map[string]any{"by": "this instance"})
	if err := lease.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := s.do(http.MethodPost, path, "", key)
	again := s.do(http.MethodPost, path+"&wait=1s", "", key)
	if first.status != http.StatusCreated || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("first %d %s; then %d %s", first.status, first.body, again.status, again.body)
	}
	s.do(http.MethodPost, path+"&quantity=2", "", key).wantError(t, http.StatusUnprocessableEntity)
}
