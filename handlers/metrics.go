package handlers

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

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

// Metrics holds the Prometheus metrics of one instance. Labels are versions, statuses, outcomes and resources only. Keys, orders and
// drivers are not labels, because their number has no bound.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	wait     *prometheus.HistogramVec
	hold     *prometheus.HistogramVec
	leases   *prometheus.CounterVec
	stale    *prometheus.CounterVec
}

// NewMetrics returns metrics with a registry of their own.
func NewMetrics() *Metrics {
	seconds := prometheus.ExponentialBuckets(0.0001, 2, 20) // 0.1 ms to 52 s
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_requests_total", Help: "Requests answered, by version (empty: no version) and HTTP status.",
		}, []string{"version", "status"}),
		wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "locklab_lock_wait_seconds", Help: "Time from the request for a lock to its grant or refusal.", Buckets: seconds,
		}, []string{"version"}),
		hold: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "locklab_lock_hold_seconds", Help: "Time from the grant of a lock to its release.", Buckets: seconds,
		}, []string{"version"}),
		leases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_leases_total",
			Help: "Leases by outcome. Requested: acquired, timed_out, taken, cancelled, unavailable. " +
				"Acquired: lost before release, or release unconfirmed.",
		}, []string{"version", "outcome"}),
		stale: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "locklab_stale_writes_refused_total",
			Help: "Writes that a resource refused because another holder had read since.",
		}, []string{"version", "resource"}),
	}
	m.registry.MustRegister(m.requests, m.wait, m.hold, m.leases, m.stale,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// startAtZero adds the counters of a version's usual answers. Prometheus computes an increase between two values of a series: of one that
// begins with the first burst, it would not see that burst.
func (m *Metrics) startAtZero(version string) {
	for _, status := range []int{http.StatusOK, http.StatusConflict, http.StatusLocked, http.StatusServiceUnavailable} {
		m.requests.WithLabelValues(version, strconv.Itoa(status))
	}
}

// LockObserver returns the observer of a version's lock. All its series start at zero.
func (m *Metrics) LockObserver(version string) *LockMetrics {
	m.wait.WithLabelValues(version)
	m.hold.WithLabelValues(version)
	for _, outcome := range []string{
		outcomeAcquired, outcomeTimedOut, outcomeTaken, outcomeCancelled, outcomeUnavailable, outcomeLost, outcomeUnconfirmed,
	} {
		m.leases.WithLabelValues(version, outcome)
	}
	for _, row := range errorTable {
		if row.stale != "" {
			m.stale.WithLabelValues(version, row.stale)
		}
	}
	return &LockMetrics{m, version}
}

// AddQueue adds a metric for the length of a version's queue in this process.
func (m *Metrics) AddQueue(version string, waiting func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "locklab_gate_waiting", Help: "Requests waiting in the queue of this process.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return float64(waiting()) }))
}

// LockMetrics observes the lock of one version.
type LockMetrics struct {
	metrics *Metrics
	version string
}

var _ lockstrategy.Observer = (*LockMetrics)(nil)

// Asked implements [lockstrategy.Observer].
func (l *LockMetrics) Asked(waited time.Duration, err error) {
	l.metrics.wait.WithLabelValues(l.version).Observe(waited.Seconds())
	l.metrics.leases.WithLabelValues(l.version, acquireOutcome(err)).Inc()
}

// Released implements [lockstrategy.Observer].
func (l *LockMetrics) Released(held time.Duration, err error) {
	l.metrics.hold.WithLabelValues(l.version).Observe(held.Seconds())
	switch {
	case errors.Is(err, lockstrategy.ErrLost):
		l.metrics.leases.WithLabelValues(l.version, outcomeLost).Inc()
	case err != nil:
		l.metrics.leases.WithLabelValues(l.version, outcomeUnconfirmed).Inc()
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
