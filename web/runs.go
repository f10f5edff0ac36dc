package web

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"io"
	"math/rand/v2"
	"time"

	"locklab/experiments"
	"locklab/history"
	"locklab/report/html"
)

// mostWaiting bounds the runs that wait for the one that runs: experiments share the processors, and some measure.
const mostWaiting = 3

// redraw is how long a drawing of a run stays at least. Browsers get nothing when nothing has happened.
const redraw = 200 * time.Millisecond

const shortSeed = 1_000_000 // a seed that a person will type

var errBusy = errors.New("other runs are waiting already; press again when one of them has ended")

// job is a run that somebody has asked for.
type job struct {
	part string                                  // of the pages that show it; one run of a part waits or runs
	do   func(ctx context.Context) (show func()) // show is called when it can be asked for again
}

// start queues a run, unless one of the same part waits or runs. It fails when too many wait.
func (s *Server) start(j job) error {
	before := s.board.get(j.part, viewer{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[j.part] {
		return nil
	}
	says := "begins"
	if len(s.busy) > 0 {
		says = "waits"
	}
	s.board.put(j.part, s.fragment(says, nil)) // before the worker has it
	select {
	case s.jobs <- j:
		s.busy[j.part] = true
		return nil
	default:
		s.board.put(j.part, before)
		return errBusy
	}
}

// isBusy reports whether a run of a part waits or runs.
func (s *Server) isBusy(part string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy[part]
}

// work does one run after the other until ctx ends.
func (s *Server) work(ctx context.Context) {
	for {
		select {
		case j := <-s.jobs:
			s.board.put(j.part, s.fragment("begins", nil))
			show := j.do(ctx)
			s.mu.Lock()
			delete(s.busy, j.part)
			s.mu.Unlock()
			show()
		case <-ctx.Done():
			return
		}
	}
}

// trial is the run of an experiment.
type trial struct {
	experiment experiments.Experiment
	trials     int    // of each variant; 0: the experiment's own number
	part       string // that shows it
	saved      bool   // the run of a scene is not: it lacks variants
	ended      func(experiments.Result)
}

// try queues the run of an experiment. It fails when this machine lacks a program, too.
func (s *Server) try(t trial) error {
	if err := s.cfg.Missing(t.experiment); err != nil {
		return err
	}
	return s.start(job{t.part, func(ctx context.Context) func() {
		r := s.run(ctx, t)
		return func() { t.ended(r) }
	}})
}

// run runs an experiment, and draws it meanwhile.
func (s *Server) run(ctx context.Context, t trial) (r experiments.Result) {
	o := s.cfg.Options
	o.Trials, o.Seed = t.trials, rand.Uint64N(shortSeed)
	o.Command = s.cfg.Command(t.experiment, o)
	if t.saved {
		o.Store = s.cfg.Store
	}
	var now runNow
	s.follow(t.part, func(changed func()) {
		o.Tell = func(e experiments.Event) { now.tell(e); changed() }
		s.cfg.Prepare(ctx, t.experiment, func(what string) { now.say(what); changed() })
		if r = experiments.Run(ctx, t.experiment, o); r.Dir != "" && r.NotSaved == "" {
			if err := html.WriteRun(r.Saved); err != nil { // the report of the store leads there
				r.NotSaved = err.Error()
			}
		}
	}, func() string { return s.fragment("runs", now.copy()) })
	return r
}

// follow does work, and puts into a part what show returns whenever something has changed, but not more often than redraw. Show is called
// only if a browser looks at the part: drawing would disturb what is measured.
func (s *Server) follow(part string, work func(changed func()), show func() string) {
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
			s.board.putMade(part, show)
		}
		select {
		case <-done:
			return
		case <-time.After(redraw):
		}
	}
}

// drawing draws the trial that runs.
func drawing(events []history.Event) template.HTML {
	return markup(func(w io.Writer) error { return html.Drawing(w, events, nil) })
}

// markup is what package report/html has written. It escapes everything that comes from a history.
func markup(write func(io.Writer) error) template.HTML {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return template.HTML(template.HTMLEscapeString("It could not be drawn: " + err.Error()))
	}
	return template.HTML(text.String())
}
