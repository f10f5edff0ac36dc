package handlers

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Check asks a server that the instance needs whether it answers.
type Check struct {
	Name  string
	Ping  func(ctx context.Context) error
	Spare bool // the instance works without it: its outage is logged, and makes nothing unready
}

const (
	askEvery  = time.Second      // while something fails
	lineEvery = 10 * time.Second // of each kind, for each server
)

// Outages logs one line when a server of the instance is lost, and one when it is back. The number of requests that fail meanwhile does not
// matter. It begins to ask the servers when something fails, or when [Outages.Ask] finds one that does not answer. It ends when all
// answer. A failure that it cannot explain, because every server answers, has a line as well. The same line is written again after ten
// seconds at the earliest.
//
// What is NOT guaranteed: an outage that nobody notices leaves no line. A server that is lost and back within a second may leave none. The
// failures of two simultaneous outages are counted for both.
type Outages struct {
	log    *slog.Logger
	ending context.Context
	end    context.CancelFunc

	mu        sync.Mutex
	asking    bool // in the background, until all is well
	questions int  // so far
	servers   []*server
	failures  int       // so far
	explained int       // of these, by a server that did not answer or by a line
	since     time.Time // of the first that is not explained
	what      string    // that failed last
	err       error     // of it
	wrote     time.Time // when the line about failures that no server explains was written
	running   sync.WaitGroup
}

// server is one that an instance needs.
type server struct {
	Check
	answered   int       // the latest question that it has answered, or has left without an answer
	err        error     // why it does not answer; nil: it does
	told       bool      // the log says that it is lost
	since      time.Time // it does not answer
	before     int       // failures before that
	lost, back time.Time // when these lines were written
}

// NewOutages returns the log of the outages of servers. Close it before their clients.
func NewOutages(log *slog.Logger, servers ...Check) *Outages {
	o := &Outages{log: log}
	o.ending, o.end = context.WithCancel(context.Background())
	for _, check := range servers {
		o.servers = append(o.servers, &server{Check: check})
	}
	return o
}

// Close ends the questions to the servers.
func (o *Outages) Close() error {
	o.mu.Lock()
	o.end()
	o.mu.Unlock()
	o.running.Wait()
	return nil
}

// Failed tells of something that failed, as for want of a server. what names its kind. It returns immediately.
func (o *Outages) Failed(what string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures == o.explained {
		o.since = time.Now()
	}
	o.failures, o.what, o.err = o.failures+1, what, err
	o.watchLocked()
}

// watchLocked asks the servers in the background until all is well.
func (o *Outages) watchLocked() {
	if o.asking || o.ending.Err() != nil {
		return
	}
	o.asking = true
	o.running.Go(func() {
		for again := true; again; {
			o.Ask(o.ending)
			select {
			case <-o.ending.Done():
				return
			case <-time.After(askEvery):
			}
			o.mu.Lock()
			again = !o.wellLocked()
			o.asking = again
			o.mu.Unlock()
		}
	})
}

// wellLocked reports whether every server answers, and every line is written that is due.
func (o *Outages) wellLocked() bool {
	for _, s := range o.servers {
		if s.err != nil || s.told {
			return false
		}
	}
	return o.failures == o.explained
}

// Ask asks all servers simultaneously. It returns why some do not answer, by their names. Answers that come when ctx was cancelled are not
// logged. Nor is one that comes after the answer to a later question. It may be a timeout that began while the server was away.
func (o *Outages) Ask(ctx context.Context) map[string]error {
	o.mu.Lock()
	o.questions++
	question := o.questions
	o.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, readiness)
	defer cancel()
	answers := make([]error, len(o.servers))
	var asked sync.WaitGroup
	for i, s := range o.servers {
		asked.Go(func() { answers[i] = s.Ping(bounded) })
	}
	asked.Wait()
	unreachable := make(map[string]error)
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, s := range o.servers {
		if answers[i] != nil && !s.Spare {
			unreachable[s.Name] = answers[i]
		}
	}
	if ctx.Err() != context.Canceled {
		o.notedLocked(question, answers, time.Now())
	}
	return unreachable
}

// notedLocked notes the servers' answers to a question, and writes the lines that are due.
func (o *Outages) notedLocked(question int, answers []error, now time.Time) {
	away := false
	for i, s := range o.servers {
		if question > s.answered {
			o.answeredLocked(s, question, answers[i], now)
		}
		away = away || !s.Spare && (s.err != nil || s.told)
		o.tellLocked(s, now)
	}
	switch unexplained := o.failures - o.explained; {
	case away:
		o.explained = o.failures
	case unexplained > 0 && now.Sub(o.wrote) >= lineEvery:
		o.log.Warn("something failed, although every server answers", "what", o.what, "failures", unexplained, "error", sentence(o.err))
		o.wrote, o.explained = now, o.failures
	}
	if !o.wellLocked() {
		o.watchLocked()
	}
}

// answeredLocked notes a server's answer.
func (o *Outages) answeredLocked(s *server, question int, err error, now time.Time) {
	if err != nil && s.err == nil && !s.told {
		s.since, s.before = now, o.explained
		if o.failures > o.explained {
			s.since = o.since
		}
	}
	s.answered, s.err = question, err
}

// tellLocked writes that a server is lost or back, unless the same was written a moment ago.
func (o *Outages) tellLocked(s *server, now time.Time) {
	switch {
	case s.err != nil && !s.told && now.Sub(s.lost) >= lineEvery:
		s.told, s.lost = true, now
		o.log.Warn("server lost", "server", s.Name, "error", sentence(s.err))
	case s.err == nil && s.told && now.Sub(s.back) >= lineEvery:
		s.told, s.back = false, now
		o.log.Warn("server back", "server", s.Name, "after", now.Sub(s.since).Round(time.Millisecond), "failures", o.failures-s.before)
	}
}
