package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"locklab/handlers"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/pview"
	"locklab/versions"
)

// notAcquired returns the error of a strategy that did not grant the lock.
func notAcquired(cause error) error {
	return fmt.Errorf("%w: lock:pview: %w", lockstrategy.ErrNotAcquired, cause)
}

var (
	errWaited       = fmt.Errorf("waited 8s, which is the limit: %w", context.DeadlineExceeded)
	errLockDown     = fmt.Errorf("%w: acquire: dial tcp 10.0.0.1:6379: connect: connection refused", lockstrategy.ErrUnavailable)
	errLockSlow     = fmt.Errorf("%w: acquire: %w", lockstrategy.ErrUnavailable, context.DeadlineExceeded)
	errRedisDown    = fmt.Errorf("%w: dial tcp 10.0.0.1:6379: connect: connection refused", pview.ErrUnavailable)
	errDatabaseDown = fmt.Errorf("%w: mysql 10.0.0.2:3306/lab: %w", order.ErrUnavailable, context.DeadlineExceeded)
	errLeaseLost    = fmt.Errorf("%w: lock:pview is no longer its owner's", lockstrategy.ErrLost)
)

func TestErrorStatus(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		status int
		words  []string
		retry  bool
	}{
		"the wait was too long":     {notAcquired(errWaited), 503, []string{"not acquired", "waited 8s"}, true},
		"the lock's server is down": {notAcquired(errLockDown), 503, []string{"lock: server unavailable", "10.0.0.1:6379"}, false},
		"the lock's server is slow": {notAcquired(errLockSlow), 503, []string{"lock: server unavailable"}, false},
		"its own error":             {errLockSlow, 503, []string{"lock: server unavailable"}, false},
		"the waiter was cancelled":  {notAcquired(context.Canceled), 503, []string{"not acquired"}, false},
		"the lease was lost":        {errLeaseLost, 503, []string{"lease lost"}, false},
		"lost, and the work cancelled": {
			errors.Join(errLeaseLost, errors.Join(context.Canceled, errLeaseLost)), 503, []string{"lease lost", "; context canceled"}, false,
		},
		"lost, and work too slow":  {errors.Join(errLeaseLost, errDatabaseDown), 503, []string{"lease lost", "mysql 10.0.0.2:3306/lab"}, false},
		"Redis is down":            {errRedisDown, 503, []string{"redis unavailable", "10.0.0.1:6379"}, false},
		"the database is down":     {errDatabaseDown, 503, []string{"database unavailable", "mysql 10.0.0.2:3306/lab"}, false},
		"the counter overflows":    {fmt.Errorf("%w: 9223372036854775807", pview.ErrOverflow), 409, []string{"9223372036854775807"}, false},
		"the counter is a word":    {fmt.Errorf("%w: \"many\"", pview.ErrNotNumber), 409, []string{`not a number: "many"`}, false},
		"no such order":            {order.ErrNotFound, 404, []string{"order: not found"}, false},
		"unknown":                  {errors.New("disk\nfull"), 500, []string{"disk; full"}, false},
		"a timeout without a lock": {context.DeadlineExceeded, 500, []string{"deadline exceeded"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(got response) {
				t.Helper()
				got.wantError(t, test.status, test.words...)
				if retry := got.header.Get("Retry-After"); (retry == "1") != test.retry || !test.retry && retry != "" {
					t.Errorf("Retry-After is %q", retry)
				}
			}
			locks := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Versions[1].Lock = guard(fakeLock{err: test.err}) })
			check(locks.do(http.MethodPost, "/v1/pview", ""))
			check(locks.do(http.MethodPost, "/v1/orders/1/grab?driver=12", ""))

			work := serve(t, func(s *instance, _ *handlers.Config) { s.views.err, s.orders.err = test.err, test.err })
			for _, version := range []string{"v0", "v1", "v2"} {
				check(work.do(http.MethodPost, "/"+version+"/pview", "", "Accept: text/plain"))
				check(work.do(http.MethodPost, "/"+version+"/orders/1/grab?driver=12", ""))
			}
			check(work.get("/pview"))
			check(work.do(http.MethodPut, "/pview", `{"value":0}`))
			check(work.do(http.MethodPost, "/orders", ""))
			check(work.get("/orders/1"))
		})
	}
}

// The error of a 5xx says whether the work may have been done, and how to find out.
func TestUnknownOutcomeAdvice(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		written bool
	}{
		"the lease was lost":              {errLeaseLost, true},
		"lost, and the work cancelled":    {errors.Join(errLeaseLost, errors.Join(context.Canceled, errLeaseLost)), true},
		"lost, and no server answered":    {errors.Join(errLeaseLost, errLockDown), true},
		"Redis is down":                   {errRedisDown, true},
		"nothing was sent to Redis":       {pview.ErrNotWritten, false},
		"the database is down":            {errDatabaseDown, true},
		"there is no such database host":  {errors.Join(errDatabaseDown, order.ErrNotWritten), false},
		"an unknown error":                {errors.New("a bug"), true},
		"the wait was too long":           {notAcquired(errWaited), false},
		"the lock's server is down":       {notAcquired(errLockDown), false},
		"the lease was lost at the grant": {notAcquired(errLeaseLost), false},
		"a stale holder was refused":      {errors.Join(errLeaseLost, staleError(pview.ErrStale)), false},
		"there is no such order":          {order.ErrNotFound, false},
	} {
		s := serve(t, func(s *instance, _ *handlers.Config) { s.views.err, s.orders.err = test.err, test.err })
		for path, advice := range map[string]string{
			"/orders":                     "; the order may have been created, but its id is unknown: repeating the request creates another order",
			"/v2/pview":                   "; the view may have been counted: read the counter with GET /pview to find out",
			"/v3/orders/1/grab?driver=12": "; the driver may have won: repeat the request to find out",
			"/v0/orders/1/grab?driver=12": "; the driver may have won: repeat the request to find out",
		} {
			got, _ := s.do(http.MethodPost, path, "").json(t)["error"].(string)
			if strings.HasSuffix(got, advice) != test.written || strings.Contains(got, "may have") != test.written {
				t.Errorf("%s: the error of POST %s is %q", name, path, got)
			}
		}
		got, _ := s.do(http.MethodPut, "/pview", `{"value": 0}`).json(t)["error"].(string)
		if strings.Contains(got, "the counter may have been set: read it with GET /pview") != test.written {
			t.Errorf("%s: the error of PUT /pview is %q", name, got)
		}
		if got := s.get("/pview").body; strings.Contains(got, "may have") { // a read changes nothing
			t.Errorf("%s: the response to GET /pview is %s", name, got)
		}
	}
}

// The errors come from a real counter and a real lock.
func TestRedisDown(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	locks, err := versions.Open(versions.NameRedis, versions.Backends{Redis: client})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	s := serve(t, func(s *instance, cfg *handlers.Config) {
		cfg.Views = pview.NewCounter(client, func() redis.UniversalClient { return client })
		cfg.Versions[3].Lock = &lockstrategy.Guard{Strategy: locks, Observer: s.metrics.LockObserver("v3")}
	})
	for _, path := range []string{"/v0/pview", "/v1/pview", "/v2/pview", "/pview", "/pview?from=replica"} {
		s.get(path).wantError(t, http.StatusServiceUnavailable, "redis unavailable", "127.0.0.1:1")
	}
	s.get("/v3/pview").wantError(t, http.StatusServiceUnavailable, "lock: server unavailable", "127.0.0.1:1")
	if got := s.scrape()[`locklab_leases_total{outcome="unavailable",version="v3"}`]; got != 1 {
		t.Errorf("%v leases were counted as unavailable, want 1", got)
	}
}

func TestPanic(t *testing.T) {
	s := serve(t)
	for _, cause := range []any{"oops", errors.New("oops"), fmt.Errorf("oops: %w", syscall.ECONNRESET), 7} {
		s.views.inside = func(context.Context) error { panic(cause) }
		s.do(http.MethodPost, "/v2/pview", "").wantError(t, http.StatusInternalServerError, "log")
		s.views.inside = nil // the lock must be free
		if got := s.do(http.MethodPost, "/v2/pview", ""); got.status != http.StatusOK {
			t.Fatalf("after a panic with %v: %d %s", cause, got.status, got.body)
		}
	}
	if log := s.log.String(); strings.Count(log, "level=ERROR msg=panic") != 4 ||
		!strings.Contains(log, "handlers_test.(*fakeViews).Increment") {
		t.Errorf("the log is %s", log)
	}
	if got := s.scrape()[`locklab_requests_total{status="500",version="v2"}`]; got != 4 {
		t.Errorf("%v requests with status 500 were counted, want 4", got)
	}
}

// During a shutdown the instance cancels its requests while their clients are still connected.
func TestShutdownCancelsRequests(t *testing.T) {
	for _, err := range []error{errors.Join(context.Canceled, errors.New("query interrupted")), errRedisDown} {
		requests, stop := context.WithCancelCause(context.Background())
		s := serve(t, func(s *instance, _ *handlers.Config) { s.base = requests })
		s.views.inside = func(ctx context.Context) error {
			stop(errors.New("the instance is shutting down"))
			<-ctx.Done()
			return err
		}
		s.do(http.MethodPost, "/v2/pview", "").wantError(t, http.StatusServiceUnavailable)
		s.get("/v2/pview").wantError(t, http.StatusServiceUnavailable, "not acquired", "the instance is shutting down")
	}
}
