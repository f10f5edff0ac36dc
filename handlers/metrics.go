package handlers

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"locklab/lockstrategy"
)

// Outcomes of a request for a lease, and of a lease.
const (
	acquired    = "acquired"
	timedOut    = "timed_out"   // the wait was longer than allowed
	taken       = "taken"       // the request was not to wait, and another held the lock
	cancelled   = "cancelled"   // the client disconnected
	unavailable = "unavailable" // the lock's server gave no answer
	lost        = "lost"        // before it was released
	unconfirmed = "unconfirmed" // the server did not confirm the release
)

// Metrics holds the metrics of one instance, for Prometheus. Labels are versions, statuses, outcomes and resources, of which there are
// few; never keys, orders or drivers.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	wait     *prometheus.HistogramVec
	hold     *prometheus.HistogramVec
	leases   *prometheus.CounterVec
	stale    *prometheus.CounterVec
}

// NewMetrics returns the metrics of one instance, with a registry of their own.
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
			Help: "Writes that a resource refused because another holder had read.",
		}, []string{"version", "resource"}),
	}
	m.registry.MustRegister(m.requests, m.wait, m.hold, m.leases, m.stale,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Lock returns the observer of one version's locks, with all outcomes and resources at zero.
func (m *Metrics) Lock(version string) *LockMetrics {
	for _, outcome := range []string{acquired, timedOut, taken, cancelled, unavailable, lost, unconfirmed} {
		m.leases.WithLabelValues(version, outcome)
	}
	for _, resource := range resources {
		m.stale.WithLabelValues(version, resource.name)
	}
	return &LockMetrics{m, version}
}

// Queue adds the length of a version's queue in this process.
func (m *Metrics) Queue(version string, waiting func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "locklab_gate_waiting", Help: "Requests that wait in the queue of this process.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return float64(waiting()) }))
}

// LockMetrics observes the locks of one version; it is a lockstrategy.Observer.
type LockMetrics struct {
	metrics *Metrics
	version string
}

var _ lockstrategy.Observer = (*LockMetrics)(nil)

// Asked counts a grant, or a wait that ended without one, by its reason.
func (l *LockMetrics) Asked(waited time.Duration, err error) {
	l.metrics.wait.WithLabelValues(l.version).Observe(waited.Seconds())
	l.metrics.leases.WithLabelValues(l.version, outcomeOf(err)).Inc()
}

// Released counts the end of a lease.
func (l *LockMetrics) Released(held time.Duration, err error) {
	l.metrics.hold.WithLabelValues(l.version).Observe(held.Seconds())
	switch {
	case errors.Is(err, lockstrategy.ErrLost):
		l.metrics.leases.WithLabelValues(l.version, lost).Inc()
	case err != nil:
		l.metrics.leases.WithLabelValues(l.version, unconfirmed).Inc()
	}
}

// outcomeOf names a grant, or why there was none.
func outcomeOf(err error) string {
	switch {
	case err == nil:
		return acquired
	case errors.Is(err, lockstrategy.ErrUnavailable):
		return unavailable
	case errors.Is(err, context.DeadlineExceeded):
		return timedOut
	case errors.Is(err, lockstrategy.ErrTaken):
		return taken
	}
	return cancelled
}
