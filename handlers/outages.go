package handlers

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// HealthCheck pings one server that the instance uses.
type HealthCheck struct {
	Name     string
	Ping     func(ctx context.Context) error
	Optional bool // the instance works without this server: an outage is logged, but the instance stays ready
}

const (
	pollInterval = time.Second      // while something fails
	logInterval  = 10 * time.Second // between two equal lines about one server
)

// Outages logs the outages of an instance's servers: one line when a server is lost and one when it is back, however many requests fail in
// between. It starts to poll the servers when something fails ([Outages.ReportFailure]) or a ping in [Outages.PingServers] does, and stops
// when all servers answer. A failure while every server answers is logged as well. No line is repeated within ten seconds.
//
// Not guaranteed: an outage that nothing notices is not logged, and one that lasts less than a second may not be. Failures during
// two simultaneous outages are counted for both.
type Outages struct {
	log    *slog.Logger
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu               sync.Mutex
	polling          bool
	rounds           int // of pings that have begun
	servers          []*serverState
	failures         int       // reported so far
	explained        int       // of these: a server was lost at the time, or a line was logged
	unexplainedSince time.Time // the first failure that is not explained
	lastOperation    string    // that failed
	lastErr          error
	unexplainedLog   time.Time // the last line about failures while every server answered
	background       sync.WaitGroup
}

// serverState is what the last pings showed about a server, and what was logged.
type serverState struct {
	HealthCheck
	round            int   // the latest round whose result is recorded
	err              error // of the last ping
	loggedLost       bool  // the last line says that the server is lost
	lostSince        time.Time
	failuresBefore   int // reported before the server was lost
	lostLog, backLog time.Time
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
	if o.failures == o.explained {
		o.unexplainedSince = time.Now()
	}
	o.failures, o.lastOperation, o.lastErr = o.failures+1, operation, err
	o.pollLocked()
}

// pollLocked pings the servers in the background until nothing is left to log.
func (o *Outages) pollLocked() {
	if o.polling || o.ctx.Err() != nil {
		return
	}
	o.polling = true
	o.background.Go(func() {
		for polling := true; polling; {
			o.PingServers(o.ctx)
			select {
			case <-o.ctx.Done():
				return
			case <-time.After(pollInterval):
			}
			o.mu.Lock()
			polling = !o.isSettledLocked()
			o.polling = polling
			o.mu.Unlock()
		}
	})
}

// isSettledLocked reports whether every server answers and every line is logged.
func (o *Outages) isSettledLocked() bool {
	for _, s := range o.servers {
		if s.err != nil || s.loggedLost {
			return false
		}
	}
	return o.failures == o.explained
}

// PingServers pings all servers at once and returns the errors by server name, without those of optional servers. Results are not logged
// if ctx was cancelled. A result that comes after one of a later round is dropped: it may be a timeout of a ping that was sent during an
// outage that has ended.
func (o *Outages) PingServers(ctx context.Context) map[string]error {
	o.mu.Lock()
	o.rounds++
	round := o.rounds
	o.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	errs := make([]error, len(o.servers))
	var pings sync.WaitGroup
	for i, s := range o.servers {
		pings.Go(func() { errs[i] = s.Ping(bounded) })
	}
	pings.Wait()
	unreachable := make(map[string]error)
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, s := range o.servers {
		if errs[i] != nil && !s.Optional {
			unreachable[s.Name] = errs[i]
		}
	}
	if ctx.Err() != context.Canceled {
		o.recordLocked(round, errs, time.Now())
	}
	return unreachable
}

// recordLocked records the results of a round and logs what is due.
func (o *Outages) recordLocked(round int, errs []error, now time.Time) {
	isDown := false
	for i, s := range o.servers {
		if round > s.round {
			o.recordPingLocked(s, round, errs[i], now)
		}
		isDown = isDown || !s.Optional && (s.err != nil || s.loggedLost)
		o.logServerLocked(s, now)
	}
	switch unexplained := o.failures - o.explained; {
	case isDown:
		o.explained = o.failures
	case unexplained > 0 && now.Sub(o.unexplainedLog) >= logInterval:
		o.log.Warn("operations failed although every server answers",
			"what", o.lastOperation, "failures", unexplained, "error", oneLine(o.lastErr))
		o.unexplainedLog, o.explained = now, o.failures
	}
	if !o.isSettledLocked() {
		o.pollLocked()
	}
}

func (o *Outages) recordPingLocked(s *serverState, round int, err error, now time.Time) {
	if err != nil && s.err == nil && !s.loggedLost {
		s.lostSince, s.failuresBefore = now, o.explained
		if o.failures > o.explained {
			s.lostSince = o.unexplainedSince
		}
	}
	s.round, s.err = round, err
}

// logServerLocked logs that a server is lost or back, unless the same line was logged less than [logInterval] ago.
func (o *Outages) logServerLocked(s *serverState, now time.Time) {
	switch {
	case s.err != nil && !s.loggedLost && now.Sub(s.lostLog) >= logInterval:
		s.loggedLost, s.lostLog = true, now
		o.log.Warn("server lost", "server", s.Name, "error", oneLine(s.err))
	case s.err == nil && s.loggedLost && now.Sub(s.backLog) >= logInterval:
		s.loggedLost, s.backLog = false, now
		o.log.Warn("server back", "server", s.Name,
			"after", now.Sub(s.lostSince).Round(time.Millisecond), "failures", o.failures-s.failuresBefore)
	}
}
