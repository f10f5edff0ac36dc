package live

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"io"
	"math/rand/v2"
	"slices"
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
	do   func(ctx context.Context) (show func()) // show is called when it can be asked for again
}

// underway is a job that waits or runs.
type underway struct {
	job
	stopped bool
	cancel  context.CancelCauseFunc // nil: it waits
}

// start queues a run, unless one of the same part waits or runs. It fails when too many wait.
func (s *Server) start(j job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.busy[j.part] != nil:
		return nil
	case len(s.waiting) == mostWaiting:
		return errBusy
	}
	says := "begins"
	if len(s.busy) > 0 {
		says = "waits"
	}
	s.board.put(j.part, s.fragment(says, nil))
	s.busy[j.part] = &underway{job: j}
	s.waiting = append(s.waiting, s.busy[j.part])
	select {
	case s.queued <- struct{}{}:
	default: // the worker will look anyway
	}
	return nil
}

// isBusy reports whether a run of a part waits or runs.
func (s *Server) isBusy(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy[part] != nil
}

// stop ends the run of a part: its context is cancelled with errStopped. One that waits gets a context that has ended, and never begins.
// Stop does nothing when none waits or runs.
func (s *Server) stop(part string) {
	s.mu.Lock()
	u := s.busy[part]
	if u == nil || u.stopped {
		s.mu.Unlock()
		return
	}
	u.stopped = true
	at := slices.Index(s.waiting, u)
	if at >= 0 {
		s.waiting = slices.Delete(s.waiting, at, at+1)
	}
	s.mu.Unlock()
	if at < 0 {
		u.cancel(errStopped)
		return
	}
	never, cancel := context.WithCancelCause(context.Background())
	cancel(errStopped)
	s.finish(never, u)
}

// finish does a job until its end.
func (s *Server) finish(ctx context.Context, u *underway) {
	show := u.do(ctx)
	s.mu.Lock()
	delete(s.busy, u.part)
	s.mu.Unlock()
	show()
}

// next takes the job that waits for the longest time, with its context; nil: none waits.
func (s *Server) next(ctx context.Context) (context.Context, *underway) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil, nil
	}
	u := s.waiting[0]
	s.waiting = slices.Delete(s.waiting, 0, 1)
	ctx, u.cancel = context.WithCancelCause(ctx)
	return ctx, u
}

// work does one run after the other until ctx ends.
func (s *Server) work(ctx context.Context) {
	for {
		select {
		case <-s.queued:
		case <-ctx.Done():
			return
		}
		for running, u := s.next(ctx); u != nil && ctx.Err() == nil; running, u = s.next(ctx) {
			s.board.put(u.part, s.fragment("begins", nil))
			s.finish(running, u)
			u.cancel(nil)
		}
	}
}

// runLab runs an experiment, and calls show whenever now has been told something.
func (s *Server) runLab(ctx context.Context, e lab.Experiment, o lab.Options, now *runNow, show func()) (r lab.Result) {
	o.Seed = rand.Uint64N(shortSeed)
	o.Command = s.cfg.Command(e, o)
	s.follow(redraw, func(changed func()) {
		o.Tell = func(e lab.Event) { now.tell(e); changed() }
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

// drawing draws the trial that runs.
func drawing(events []history.Event) template.HTML {
	return markup(func(w io.Writer) error { return html.Drawing(w, events, nil) })
}

// markup is what package lab/report/html has written. It escapes everything that comes from a history.
func markup(write func(io.Writer) error) template.HTML {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return template.HTML(template.HTMLEscapeString("It could not be drawn: " + err.Error()))
	}
	return template.HTML(text.String())
}
