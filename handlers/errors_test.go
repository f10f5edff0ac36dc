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
)

// refused is how a strategy reports a wait that ended.
func refused(cause error) error {
	return fmt.Errorf("%w: lock:pview: %w", lockstrategy.ErrNotAcquired, cause)
}

var (
	tooLong   = fmt.Errorf("waited 8s, which is the limit: %w", context.DeadlineExceeded)
	lockAway  = fmt.Errorf("%w: acquire: dial tcp 10.0.0.1:6379: connect: connection refused", lockstrategy.ErrUnavailable)
	lockSlow  = fmt.Errorf("%w: acquire: %w", lockstrategy.ErrUnavailable, context.DeadlineExceeded)
	redisAway = fmt.Errorf("%w: dial tcp 10.0.0.1:6379: connect: connection refused", pview.ErrUnavailable)
	mysqlAway = fmt.Errorf("%w: mysql 10.0.0.2:3306/lab: %w", order.ErrUnavailable, context.DeadlineExceeded)
	leaseLost = fmt.Errorf("%w: lock:pview is no longer its owner's", lockstrategy.ErrLost)
)

func TestErrorsBecomeStatuses(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		status int
		words  []string
		retry  bool
	}{
		"the wait was too long":     {refused(tooLong), 503, []string{"not acquired", "waited 8s"}, true},
		"the lock's server is away": {refused(lockAway), 503, []string{"lock: server unavailable", "10.0.0.1:6379"}, false},
		"the lock's server is slow": {refused(lockSlow), 503, []string{"lock: server unavailable"}, false},
		"it is away, as it says":    {lockSlow, 503, []string{"lock: server unavailable"}, false},
		"the waiter was cancelled":  {refused(context.Canceled), 503, []string{"not acquired"}, false},
		"the lease was lost":        {leaseLost, 503, []string{"lease lost"}, false},
		"lost, and the work cancelled": {
			errors.Join(leaseLost, errors.Join(context.Canceled, leaseLost)), 503, []string{"lease lost", "; context canceled"}, false,
		},
		"lost, and the work too slow": {errors.Join(leaseLost, mysqlAway), 503, []string{"lease lost", "mysql 10.0.0.2:3306/lab"}, false},
		"Redis is away":               {redisAway, 503, []string{"redis unavailable", "10.0.0.1:6379"}, false},
		"the database is away":        {mysqlAway, 503, []string{"database unavailable", "mysql 10.0.0.2:3306/lab"}, false},
		"the counter cannot grow":     {fmt.Errorf("%w: 9223372036854775807", pview.ErrOverflow), 409, []string{"9223372036854775807"}, false},
		"the counter is a word":       {fmt.Errorf("%w: \"many\"", pview.ErrNotNumber), 409, []string{`not a number: "many"`}, false},
		"no such order":               {order.ErrNotFound, 404, []string{"order: not found"}, false},
		"unknown":                     {errors.New("disk\nfull"), 500, []string{"disk; full"}, false},
		"a timeout that is no lock's": {context.DeadlineExceeded, 500, []string{"deadline exceeded"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(got answer) {
				t.Helper()
				got.fails(t, test.status, test.words...)
				if retry := got.header.Get("Retry-After"); (retry == "1") != test.retry || !test.retry && retry != "" {
					t.Errorf("Retry-After is %q", retry)
				}
			}
			locks := serve(t, func(_ *instance, cfg *handlers.Config) { cfg.Versions[1].Lock = guarded(lock{err: test.err}) })
			check(locks.ask(http.MethodPost, "/v1/pview", ""))
			check(locks.ask(http.MethodPost, "/v1/orders/1/grab?driver=12", ""))

			work := serve(t, func(s *instance, _ *handlers.Config) { s.views.err, s.orders.err = test.err, test.err })
			for _, version := range []string{"v0", "v1", "v2"} {
				check(work.ask(http.MethodPost, "/"+version+"/pview", "", "Accept: text/plain"))
				check(work.ask(http.MethodPost, "/"+version+"/orders/1/grab?driver=12", ""))
			}
			check(work.get("/pview"))
			check(work.ask(http.MethodPut, "/pview", `{"value":0}`))
			check(work.ask(http.MethodPost, "/orders", ""))
			check(work.get("/orders/1"))
		})
	}
}

// A 503 says whether the work may have been done. The sentence says how to find out.
func TestA503SaysWhatMayHaveBeenWritten(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		written bool
	}{
		"the lease was lost":              {leaseLost, true},
		"lost, and the work cancelled":    {errors.Join(leaseLost, errors.Join(context.Canceled, leaseLost)), true},
		"lost, and no server answered":    {errors.Join(leaseLost, lockAway), true},
		"Redis is away":                   {redisAway, true},
		"Redis was not asked":             {pview.ErrNotWritten, false},
		"the database is away":            {mysqlAway, true},
		"an unknown error":                {errors.New("a bug"), true},
		"the wait was too long":           {refused(tooLong), false},
		"the lock's server is away":       {refused(lockAway), false},
		"the lease was lost at the grant": {refused(leaseLost), false},
		"a stale holder was refused":      {errors.Join(leaseLost, refusedWrite(pview.ErrStale)), false},
		"there is no such order":          {order.ErrNotFound, false},
	} {
		s := serve(t, func(s *instance, _ *handlers.Config) { s.views.err, s.orders.err = test.err, test.err })
		for path, advice := range map[string]string{
			"/orders":                     "; the order may have been made, and its number is unknown: a repeated request makes another one",
			"/v2/pview":                   "; the view may have been counted: GET /pview reads the counter",
			"/v3/orders/1/grab?driver=12": "; the driver may have won: the same request again tells",
			"/v0/orders/1/grab?driver=12": "; the driver may have won: the same request again tells",
		} {
			said, _ := s.ask(http.MethodPost, path, "").json(t)["error"].(string)
			if strings.HasSuffix(said, advice) != test.written || strings.Contains(said, "may have") != test.written {
				t.Errorf("%s: POST %s says %q", name, path, said)
			}
		}
		said, _ := s.ask(http.MethodPut, "/pview", `{"value": 0}`).json(t)["error"].(string)
		if strings.HasSuffix(said, "; the counter may have been set: GET /pview reads it") != test.written {
			t.Errorf("%s: PUT /pview says %q", name, said)
		}
		if said := string(s.get("/pview").body); strings.Contains(said, "may have") { // it reads
			t.Errorf("%s: GET /pview says %s", name, said)
		}
	}
}

// The real parts produce these errors; no test imagines them.
func TestRedisThatIsAway(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	locks, err := lockstrategy.Open(lockstrategy.NameRedis, lockstrategy.Backends{Redis: client})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	s := serve(t, func(s *instance, cfg *handlers.Config) {
		cfg.Views = pview.NewCounter(client, func() redis.UniversalClient { return client })
		cfg.Versions[3].Lock = &lockstrategy.Guard{Strategy: locks, Observer: s.metrics.Lock("v3")}
	})
	for _, path := range []string{"/v0/pview", "/v1/pview", "/v2/pview", "/pview", "/pview?from=replica"} {
		s.get(path).fails(t, http.StatusServiceUnavailable, "redis unavailable", "127.0.0.1:1")
	}
	s.get("/v3/pview").fails(t, http.StatusServiceUnavailable, "lock: server unavailable", "127.0.0.1:1")
	if got := s.scrape()[`locklab_leases_total{outcome="unavailable",version="v3"}`]; got != 1 {
		t.Errorf("%v leases were unavailable", got)
	}
}

func TestAPanicIsAnswered(t *testing.T) {
	s := serve(t)
	for _, cause := range []any{"oops", errors.New("oops"), fmt.Errorf("oops: %w", syscall.ECONNRESET), 7} {
		s.views.inside = func(context.Context) error { panic(cause) }
		s.ask(http.MethodPost, "/v2/pview", "").fails(t, http.StatusInternalServerError, "log says more")
		s.views.inside = nil // and the lock is free
		if got := s.ask(http.MethodPost, "/v2/pview", ""); got.status != http.StatusOK {
			t.Fatalf("after a panic with %v: %d %s", cause, got.status, got.body)
		}
	}
	if log := s.log.String(); strings.Count(log, "level=ERROR msg=panic") != 4 ||
		!strings.Contains(log, "handlers_test.(*views).Increment") {
		t.Errorf("the log says %s", log)
	}
	if got := s.scrape()[`locklab_requests_total{status="500",version="v2"}`]; got != 4 {
		t.Errorf("counted %v", got)
	}
}

// An instance that stops cancels its requests; their clients are still there.
func TestAnInstanceThatStops(t *testing.T) {
	for _, end := range []error{errors.Join(context.Canceled, errors.New("query interrupted")), redisAway} {
		work, stop := context.WithCancelCause(context.Background())
		s := serve(t, func(s *instance, _ *handlers.Config) { s.base = work })
		s.views.inside = func(ctx context.Context) error {
			stop(errors.New("the instance stops"))
			<-ctx.Done()
			return end
		}
		s.ask(http.MethodPost, "/v2/pview", "").fails(t, http.StatusServiceUnavailable)
		s.get("/v2/pview").fails(t, http.StatusServiceUnavailable, "not acquired", "the instance stops")
	}
}
