package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"locklab/handlers"
	"locklab/lockstrategy"
	"locklab/order"
	"locklab/pview"
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

// Every route answers an error with the same status. The error of a 5xx says whether the work may have been done, and how to find out.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		err            error
		status         int
		says           string
		retry, written bool // written: possibly
	}{
		"the wait was too long":           {notAcquired(errWaited), 503, "waited 8s", true, false},
		"the lock's server is down":       {notAcquired(errLockDown), 503, "10.0.0.1:6379", false, false},
		"the lock's server is slow":       {notAcquired(errLockSlow), 503, "lock: server unavailable", false, false},
		"its own error":                   {errLockSlow, 503, "lock: server unavailable", false, false},
		"the waiter was cancelled":        {notAcquired(context.Canceled), 503, "not acquired", false, false},
		"the lease was lost":              {errLeaseLost, 503, "lease lost", false, true},
		"lost, and the work cancelled":    {errors.Join(errLeaseLost, context.Canceled), 503, "; context canceled", false, true},
		"lost, and no server answered":    {errors.Join(errLeaseLost, errLockDown), 503, "lease lost", false, true},
		"lost, and the work was too slow": {errors.Join(errLeaseLost, errDatabaseDown), 503, "mysql 10.0.0.2:3306/lab", false, true},
		"the lease was lost at the grant": {notAcquired(errLeaseLost), 503, "lease lost", false, false},
		"Redis is down":                   {errRedisDown, 503, "10.0.0.1:6379", false, true},
		"nothing was sent to Redis":       {fmt.Errorf("%w: %w", errRedisDown, pview.ErrNotWritten), 503, "nothing", false, false},
		"the database is down":            {errDatabaseDown, 503, "mysql 10.0.0.2:3306/lab", false, true},
		"there is no such database host":  {errors.Join(errDatabaseDown, order.ErrNotWritten), 503, "mysql", false, false},
		"the counter overflows":           {fmt.Errorf("%w: 9223372036854775807", pview.ErrOverflow), 409, "9223372036854775807", false, false},
		"the counter is a word":           {fmt.Errorf("%w: \"many\"", pview.ErrNotNumber), 409, `"many"`, false, false},
		"no such order":                   {order.ErrNotFound, 404, "order: not found", false, false},
		"unknown":                         {errors.New("disk\nfull"), 500, "disk; full", false, true},
		"a timeout without a lock":        {context.DeadlineExceeded, 500, "deadline exceeded", false, true},
	} {
		s := serve(t, func(s *instance, cfg *handlers.Config) {
			s.views.err, s.orders.err, cfg.Versions[1].Lock = c.err, c.err, guard(fakeLock{err: c.err})
		})
		for line, advice := range map[string]string{
			"POST /orders": "; the order may have been created, but its id is unknown: " +
				"repeating the request creates another order",
			"POST /v0/pview":                   "; the view may have been counted: read the counter with GET /pview to find out",
			"POST /v1/pview":                   "; the view may have been counted: read the counter with GET /pview to find out",
			"POST /v2/pview":                   "; the view may have been counted: read the counter with GET /pview to find out",
			"POST /v0/orders/1/grab?driver=12": "; the driver may have won: repeat the request to find out",
			"POST /v1/orders/1/grab?driver=12": "; the driver may have won: repeat the request to find out",
			"POST /v2/orders/1/grab?driver=12": "; the driver may have won: repeat the request to find out",
			`PUT /pview {"value":0}`:           "; the counter may have been set: read it with GET /pview to find out",
			"GET /pview":                       "", // a read changes nothing
			"GET /orders/1":                    "",
		} {
			t.Run(name+" "+line, func(t *testing.T) {
				got := s.line(line, "Accept: text/plain")
				got.wantError(t, c.status, c.says)
				got.wantHeaders(t, map[string]string{"Retry-After": map[bool]string{true: "1"}[c.retry]})
				message, _ := got.json(t)["error"].(string)
				written := c.written && advice != ""
				if strings.HasSuffix(message, advice) != (written || advice == "") || strings.Contains(message, "may have") != written {
					t.Errorf("the error is %q", message)
				}
			})
		}
	}
}

func TestPanic(t *testing.T) {
	s := serve(t)
	for _, cause := range []any{"oops", fmt.Errorf("oops: %w", syscall.ECONNRESET)} {
		s.views.inside = func(context.Context) error { panic(cause) }
		s.do(http.MethodPost, "/v2/pview", "").wantError(t, http.StatusInternalServerError, "log")
		s.views.inside = nil // the lock must be free
		if got := s.do(http.MethodPost, "/v2/pview", ""); got.status != http.StatusOK {
			t.Fatalf("after a panic with %v: %d %s", cause, got.status, got.body)
		}
	}
	if log := s.log.String(); strings.Count(log, "level=ERROR msg=panic") != 2 ||
		!strings.Contains(log, "handlers_test.(*fakeViews).Increment") {
		t.Errorf("the log is %s", log)
	}
	if got := s.scrape()[`locklab_requests_total{status="500",version="v2"}`]; got != 2 {
		t.Errorf("%v requests with status 500 were counted, want 2", got)
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
