package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"locklab/handlers"
	"locklab/lockstrategy"
)

// scrape returns the values of /metrics by series.
func (s *instance) scrape() map[string]float64 {
	s.t.Helper()
	got := s.get("/metrics")
	if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
		s.t.Fatalf("/metrics: %d %v", got.status, got.header)
	}
	series := map[string]float64{}
	for line := range strings.Lines(got.body) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cut := strings.LastIndex(line, " ")
		value, err := strconv.ParseFloat(strings.TrimSpace(line[cut+1:]), 64)
		if err != nil {
			s.t.Fatalf("%v: %q", err, line)
		}
		series[line[:cut]] = value
	}
	return series
}

func TestMetrics(t *testing.T) {
	s := serve(t)
	for range 3 {
		s.do(http.MethodPost, "/v2/pview", "")
	}
	s.do(http.MethodPost, "/orders", "")
	s.get("/v2/orders/1/grab?driver=12")
	s.get("/v2/orders/1/grab?driver=13")
	s.get("/v2/orders/9/grab?driver=13")
	s.get("/v2/orders/9/grab?driver=0")
	s.views.err = errRedisDown
	s.get("/v0/pview")
	s.get("/v9/pview")
	series := s.scrape()
	for name, want := range map[string]float64{
		`locklab_requests_total{status="200",version="v2"}`:        4,
		`locklab_requests_total{status="409",version="v2"}`:        1,
		`locklab_requests_total{status="404",version="v2"}`:        1,
		`locklab_requests_total{status="400",version="v2"}`:        1,
		`locklab_requests_total{status="503",version="v0"}`:        1,
		`locklab_requests_total{status="503",version="v2"}`:        0,
		`locklab_requests_total{status="201",version=""}`:          1,
		`locklab_requests_total{status="404",version=""}`:          1,
		`locklab_leases_total{outcome="acquired",version="v2"}`:    6,
		`locklab_leases_total{outcome="timed_out",version="v2"}`:   0,
		`locklab_leases_total{outcome="taken",version="v2"}`:       0,
		`locklab_leases_total{outcome="cancelled",version="v2"}`:   0,
		`locklab_leases_total{outcome="unavailable",version="v2"}`: 0,
		`locklab_leases_total{outcome="lost",version="v2"}`:        0,
		`locklab_leases_total{outcome="unconfirmed",version="v2"}`: 0,
		`locklab_leases_total{outcome="acquired",version="v1"}`:    0,
		`locklab_lock_wait_seconds_count{version="v2"}`:            6,
		`locklab_lock_wait_seconds_bucket{version="v2",le="+Inf"}`: 6,
		`locklab_lock_hold_seconds_count{version="v2"}`:            6,
		`locklab_lock_wait_seconds_count{version="v1"}`:            0,
		`locklab_lock_hold_seconds_count{version="v1"}`:            0,
		`locklab_gate_waiting{version="v2"}`:                       0,

		`locklab_stale_writes_refused_total{resource="order",version="v2"}`: 0, // a loser is not a stale holder
		`locklab_stale_writes_refused_total{resource="pview",version="v2"}`: 0,
	} {
		if got, ok := series[name]; !ok || got != want {
			t.Errorf("%s is %v (found: %t), want %v", name, got, ok, want)
		}
	}
	if s.scrape()[`locklab_requests_total{status="200",version=""}`] != 1 {
		t.Error("the first scrape was not counted")
	}
}

// Whatever clients send, the labels are versions, statuses, outcomes, resources and buckets only.
func TestMetricLabels(t *testing.T) {
	s := serve(t)
	s.do(http.MethodPost, "/orders", "")
	series := func() (names []string) {
		for name := range s.scrape() {
			if strings.HasPrefix(name, "locklab_") {
				names = append(names, name)
			}
		}
		return names
	}
	send := func(n int) {
		for _, path := range []string{
			"/v1/pview", "/v2/pview?x=%d", "/v2/orders/1/grab?driver=%d", "/v2/orders/%d/grab?driver=1", "/orders/%d", "/v%d/pview", "/x%d",
			"/v2/%d", "/orders/1%dx",
		} {
			path = strings.ReplaceAll(path, "%d", fmt.Sprint(770000+n))
			s.do(http.MethodPost, path, "")
			s.get(path)
			s.do(fmt.Sprintf("BREW%d", 770000+n), path, "")
		}
	}
	send(0)
	send(1)    // its driver loses
	s.scrape() // the next scrape counts this one
	first := series()
	for n := range 5 {
		send(n)
	}
	if again := series(); len(again) != len(first) {
		t.Errorf("%d series became %d", len(first), len(again))
	}
	allowed := regexp.MustCompile(`^locklab_\w+\{((version="(v\d+)?"|` +
		`status="\d{3}"|outcome="[a-z_]+"|resource="(order|pview)"|le="[0-9.e+Inf-]+"),?)+\}$`)
	for _, name := range first {
		if !allowed.MatchString(name) || strings.Contains(name, "77") || strings.Contains(name, "lock:") {
			t.Errorf("unexpected series %s", name)
		}
	}
}

func TestLeaseOutcomes(t *testing.T) {
	s := serve(t, func(s *instance, _ *handlers.Config) {
		v3 := s.metrics.LockObserver("v3")
		v3.Asked(waitTime, nil)
		v3.Asked(waitTime, notAcquired(errWaited))
		v3.Asked(waitTime, notAcquired(errLockSlow)) // a slow server, not a long queue
		v3.Asked(waitTime, notAcquired(context.Canceled))
		v3.Asked(waitTime, notAcquired(lockstrategy.ErrTaken))
		v3.Released(holdTime, nil)
		v3.Released(holdTime, errLeaseLost)
		v3.Released(holdTime, errors.Join(errLockDown))
	})
	series := s.scrape()
	for _, outcome := range []string{"acquired", "timed_out", "taken", "unavailable", "cancelled", "lost", "unconfirmed"} {
		if got := series[fmt.Sprintf(`locklab_leases_total{outcome="%s",version="v3"}`, outcome)]; got != 1 {
			t.Errorf("%s: %v", outcome, got)
		}
	}
	if got := series[`locklab_lock_wait_seconds_sum{version="v3"}`]; got != 5*waitTime.Seconds() {
		t.Errorf("waited %v s", got)
	}
	if got := series[`locklab_lock_hold_seconds_sum{version="v3"}`]; got != 3*holdTime.Seconds() {
		t.Errorf("held %v s", got)
	}
}
