package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"locklab/lockstrategy"
)

// Outcomes of a request for a lease, and of a lease.
const (
	outcomeAcquired    = "acquired"
	outcomeTimedOut    = "timed_out"   // the wait was over before the lock was free
	outcomeTaken       = "taken"       // the request was not to wait, and the lock was held
	outcomeCancelled   = "cancelled"   // the client disconnected
	outcomeUnavailable = "unavailable" // the lock's server did not answer
	outcomeLost        = "lost"        // the lease ended before it was released
	outcomeUnconfirmed = "unconfirmed" // the server did not confirm the release
)

// Metrics holds the metrics of one instance for Prometheus. Labels are versions, statuses, outcomes and resources only. Keys, orders and
// drivers are not labels, because their number has no bound.
type Metrics struct{ set *metrics.Set }

// seconds are the buckets of a histogram: 0.1 ms to 52 s.
var seconds = metrics.ExponentialBuckets(0.0001, 2, 20)

// NewMetrics returns metrics with a set of their own.
func NewMetrics() *Metrics {
	metrics.ExposeMetadata(true) // the types
	return &Metrics{metrics.NewSet()}
}

// serve writes all series, and those of the Go runtime and the process.
func (m *Metrics) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.set.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}

// requests counts the requests that were answered, by version (empty: no version) and HTTP status.
func (m *Metrics) requests(version string, status int) *metrics.Counter {
	return m.counter("requests", version, "status", strconv.Itoa(status))
}

// leases counts leases by outcome. Requested: acquired, timed_out, taken, cancelled, unavailable. Acquired: lost before release, or release
// unconfirmed.
func (m *Metrics) leases(version, outcome string) *metrics.Counter {
	return m.counter("leases", version, "outcome", outcome)
}

// stale counts the writes that a resource refused because another holder had read since.
func (m *Metrics) stale(version, resource string) *metrics.Counter {
	return m.counter("stale_writes_refused", version, "resource", resource)
}

func (m *Metrics) counter(name, version, label, value string) *metrics.Counter {
	return m.set.GetOrCreateCounter(fmt.Sprintf(`locklab_%s_total{%s=%q,version=%q}`, name, label, value, version))
}

func (m *Metrics) histogram(name, version string) *metrics.PrometheusHistogram {
	return m.set.GetOrCreatePrometheusHistogramExt(fmt.Sprintf(`locklab_lock_%s_seconds{version=%q}`, name, version), seconds)
}

// startAtZero adds the counters of a version's usual answers. Prometheus computes an increase between two values of a series: of one that
// begins with the first burst, it would not see that burst.
func (m *Metrics) startAtZero(version string) {
	for _, status := range []int{http.StatusOK, http.StatusConflict, http.StatusLocked, http.StatusServiceUnavailable} {
		m.requests(version, status)
	}
}

// LockObserver returns the observer of a version's lock. All its series start at zero.
func (m *Metrics) LockObserver(version string) *LockMetrics {
	for _, outcome := range []string{
		outcomeAcquired, outcomeTimedOut, outcomeTaken, outcomeCancelled, outcomeUnavailable, outcomeLost, outcomeUnconfirmed,
	} {
		m.leases(version, outcome)
	}
	for _, row := range errorTable {
		if row.stale != "" {
			m.stale(version, row.stale)
		}
	}
	return &LockMetrics{m, version, m.histogram("wait", version), m.histogram("hold", version)}
}

// AddQueue adds a metric for the length of a version's queue in this process.
func (m *Metrics) AddQueue(version string, waiting func() int) {
	m.set.NewGauge(fmt.Sprintf("locklab_gate_waiting{version=%q}", version), func() float64 { return float64(waiting()) })
}

// LockMetrics observes the lock of one version.
type LockMetrics struct {
	metrics *Metrics
	version string
	wait    *metrics.PrometheusHistogram // from the request for the lock to its grant or refusal
	hold    *metrics.PrometheusHistogram // from the grant to the release
}

var _ lockstrategy.Observer = (*LockMetrics)(nil)

// Asked implements [lockstrategy.Observer].
func (l *LockMetrics) Asked(waited time.Duration, err error) {
	l.wait.Update(waited.Seconds())
	l.metrics.leases(l.version, acquireOutcome(err)).Inc()
}

// Released implements [lockstrategy.Observer].
func (l *LockMetrics) Released(held time.Duration, err error) {
	l.hold.Update(held.Seconds())
	switch {
	case errors.Is(err, lockstrategy.ErrLost):
		l.metrics.leases(l.version, outcomeLost).Inc()
	case err != nil:
		l.metrics.leases(l.version, outcomeUnconfirmed).Inc()
	}
}

func acquireOutcome(err error) string {
	switch {
	case err == nil:
		return outcomeAcquired
	case errors.Is(err, lockstrategy.ErrUnavailable):
		return outcomeUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return outcomeTimedOut
	case errors.Is(err, lockstrategy.ErrTaken):
		return outcomeTaken
	}
	return outcomeCancelled
}
