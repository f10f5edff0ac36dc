package handlers

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// HealthCheck pings one server that the instance uses.
type HealthCheck struct {
	Name     string
	Ping     func(ctx context.Context) error
	Optional bool // the instance works without this server: an outage is logged, but the instance stays ready
}

const (
	pollInterval = time.Second      // while something fails
	logInterval  = 10 * time.Second // between two lines about failures while every server answers
)

// Outages logs the outages of an instance's servers: one line when a server is lost and one when it is back, however many requests fail in
// between. Failures while every server answers get a line of their own. It polls the servers from the first failure on
// ([Outages.ReportFailure], or a ping in [Outages.PingServers]) until all servers answer. An outage that nothing notices is not logged.
type Outages struct {
	log    *slog.Logger
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	pings  singleflight.Group // callers that overlap share a round of pings

	mu         sync.Mutex
	servers    []*serverState
	polling    bool
	failures   int // not logged yet
	operation  string
	failure    error     // of operation, the last one that failed
	failureLog time.Time // the last line about failures while every server answered
	background sync.WaitGroup
}

// serverState is what the last ping showed about a server.
type serverState struct {
	HealthCheck
	err       error
	lostSince time.Time
}

// NewOutages returns a log of the outages of servers. Close it before their clients.
func NewOutages(log *slog.Logger, checks ...HealthCheck) *Outages {
	o := &Outages{log: log}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	for _, check := range checks {
		o.servers = append(o.servers, &serverState{HealthCheck: check})
	}
	return o
}

// Close stops polling and waits for pings in flight. It always returns nil.
func (o *Outages) Close() error {
	o.mu.Lock()
	o.cancel()
	o.mu.Unlock()
	o.background.Wait()
	return nil
}

// ReportFailure records that an operation failed, possibly because a server is down, and starts polling. It does not block.
func (o *Outages) ReportFailure(operation string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures, o.operation, o.failure = o.failures+1, operation, err
	o.pollLocked()
}

// pollLocked pings the servers in the background until every server answers and every failure is logged.
func (o *Outages) pollLocked() {
	if o.polling || o.ctx.Err() != nil {
		return
	}
	o.polling = true
	o.background.Go(func() {
		for polling := true; polling; {
			o.PingServers()
			select {
			case <-o.ctx.Done():
				return
			case <-time.After(pollInterval):
			}
			o.mu.Lock()
			polling = o.failures > 0 || o.isDownLocked(true)
			o.polling = polling
			o.mu.Unlock()
		}
	})
}

// isDownLocked reports whether a server did not answer its last ping.
func (o *Outages) isDownLocked(optional bool) bool {
	for _, s := range o.servers {
		if s.err != nil && (optional || !s.Optional) {
			return true
		}
	}
	return false
}

// PingServers pings all servers at once and returns the errors by server name, without those of optional servers.
func (o *Outages) PingServers() map[string]error {
	unreachable, _, _ := o.pings.Do("", func() (any, error) {
		ctx, cancel := context.WithTimeout(o.ctx, pingTimeout)
		defer cancel()
		errs := make([]error, len(o.servers))
		var pings sync.WaitGroup
		for i, s := range o.servers {
			pings.Go(func() { errs[i] = s.Ping(ctx) })
		}
		pings.Wait()
		unreachable := make(map[string]error)
		for i, s := range o.servers {
			if errs[i] != nil && !s.Optional {
				unreachable[s.Name] = errs[i]
			}
		}
		o.record(errs, time.Now())
		return unreachable, nil
	})
	return unreachable.(map[string]error)
}

// record logs what a round of pings has changed.
func (o *Outages) record(errs []error, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() != nil {
		return
	}
	isBack := false
	for i, s := range o.servers {
		switch lost := s.err != nil; {
		case errs[i] != nil && !lost:
			s.lostSince = now
			o.log.Warn("server lost", "server", s.Name, "error", oneLine(errs[i]))
		case errs[i] == nil && lost:
			isBack = isBack || !s.Optional
			o.log.Warn("server back", "server", s.Name, "after", now.Sub(s.lostSince).Round(time.Millisecond), "failures", o.failures)
		}
		s.err = errs[i]
	}
	switch {
	case o.isDownLocked(false): // the line that says that it is back will count the failures
	case isBack:
		o.failures = 0
	case o.failures > 0 && now.Sub(o.failureLog) >= logInterval:
		o.log.Warn("operations failed although every server answers",
			"what", o.operation, "failures", o.failures, "error", oneLine(o.failure))
		o.failureLog, o.failures = now, 0
	}
	if o.isDownLocked(true) {
		o.pollLocked()
	}
}
