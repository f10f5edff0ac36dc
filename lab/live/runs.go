package live

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"io"
	"math/rand/v2"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/html"
)

// mostWaiting bounds the runs that wait for the one that runs: experiments share the processors, and some measure.
const mostWaiting = 3

// Times for which a drawing stays at least. Browsers get nothing when nothing has happened.
const (
	redraw      = 200 * time.Millisecond
	redrawBurst = 100 * time.Millisecond // a burst may be over in that time
)

const shortSeed = 1_000_000 // a seed that a person will type

var (
	errBusy    = errors.New("other runs are waiting already; press again when one of them has ended")
	errStopped = errors.New("it was stopped") // the cause of the end of a run's context
)

// job is a run that somebody has asked for.
type job struct {
	part string                                  // of the pages that show it; one run of a part waits or runs
	link link                                    // to its page, for the runs that wait for it
	do   func(ctx context.Context) (show func()) // show is called when it can be asked for again
}

// underway is a job that waits or runs.
type underway struct {
	job
	waits   bool
	stopped bool
	cancel  context.CancelCauseFunc
}

// start queues a run, unless one of the same part waits or runs. It fails when too many wait.
func (s *Server) start(j job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case s.busy[j.part] != nil:
		return nil
	case len(s.busy) > mostWaiting:
		return errBusy
	}
	u := &underway{job: j, waits: len(s.busy) > 0}
	if u.waits {
		s.board.putEach(j.part, s.waits)
	} else {
		s.board.put(j.part, s.fragment("begins", nil))
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	u.cancel = cancel
	s.busy[j.part] = u
	before, done := s.newest, make(chan struct{})
	s.newest = done
	s.running.Go(func() {
		defer close(done)
		defer cancel(nil)
		s.do(ctx, u, before)
		<-before // a stopped job lets none pass the job before it
	})
	return nil
}

// do does a job when the one before is over. One that was stopped until then gets a context that has ended, and never begins.
func (s *Server) do(ctx context.Context, u *underway, before <-chan struct{}) {
	select {
	case <-before:
		s.begin(u)
	case <-ctx.Done():
	}
	show := u.do(ctx)
	s.mu.Lock()
	delete(s.busy, u.part)
	s.mu.Unlock()
	show()
}

// begin shows that a job begins, also to those that wait for it.
func (s *Server) begin(u *underway) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.waits = false
	s.board.put(u.part, s.fragment("begins", nil))
	for part, other := range s.busy {
		if other.waits {
			s.board.again(part)
		}
	}
}

// waits says to a viewer what a job waits for.
func (s *Server) waits(v viewer) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := waitsView{Trains: v.Trains()}
	for _, u := range s.busy {
		if !u.waits {
			of.For, of.Load = u.link, u.part == loadPart
		}
	}
	return s.fragment("waits", of)
}

// waitsView is what a job waits for.
type waitsView struct {
	For    link
	Load   bool // which ends when somebody stops it
	Trains bool
}

// isBusy reports whether a run of a part waits or runs.
func (s *Server) isBusy(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy[part] != nil
}

// isRunning reports whether a run of a part has begun.
func (s *Server) isRunning(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy[part] != nil && !s.busy[part].waits
}

// stop ends the run of a part, if one waits or runs: its context is cancelled with errStopped.
func (s *Server) stop(part string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel(part)
}

// cancel is stop with the lock.
func (s *Server) cancel(part string) {
	if u := s.busy[part]; u != nil {
		u.stopped = true
		u.cancel(errStopped)
	}
}

// runLab runs an experiment, and calls show whenever now has been told something.
func (s *Server) runLab(ctx context.Context, e lab.Experiment, o lab.Options, now *runNow, show func()) (r lab.Result) {
	o.Seed = rand.Uint64N(shortSeed)
	o.Command = s.cfg.Command(e, o)
	s.follow(redraw, func(changed func()) {
		o.Tell = func(e lab.Event) { now.apply(e); changed() }
		if r.Record.Interrupted = ctx.Err() != nil; r.Record.Interrupted {
			return // nothing was begun, so nothing is saved
		}
		if r = lab.Run(ctx, e, o); r.Dir != "" && r.NotSaved == "" {
			if err := html.WriteRun(r.Saved); err != nil { // the report of the store leads there
				r.NotSaved = err.Error()
			}
		}
	}, show)
	return r
}

// follow does work, and calls show whenever something has changed, but not more often than pause. Show puts parts that are made only if
// a browser looks at them: drawing would disturb what is measured.
func (s *Server) follow(pause time.Duration, work func(changed func()), show func()) {
	changed, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		work(func() {
			select {
			case changed <- struct{}{}:
			default: // a change is waiting to be shown, and this one with it
			}
		})
	}()
	for {
		select {
		case <-done:
			return
		case <-changed:
			show()
		}
		select {
		case <-done:
			return
		case <-time.After(pause):
		}
	}
}

// drawing draws a trial. Without a violation more events may come.
func drawing(events []history.Event, found *history.Violation) template.HTML {
	return markup(func(w io.Writer) error { return html.Drawing(w, events, found) })
}

// markup is what package lab/report/html has written. It escapes everything that comes from a history.
func markup(write func(io.Writer) error) template.HTML {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return template.HTML(template.HTMLEscapeString("It could not be drawn: " + err.Error()))
	}
	return template.HTML(text.String())
}
