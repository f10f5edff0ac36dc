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

// redraw is how often the drawing of a run is renewed. Browsers get nothing when nothing has changed.
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
	s.board.put(j.part, s.fragment("waits", nil)) // before the worker has it
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

// progress is what the page of a run shows while it runs.
type progress struct {
	Says    string // which trial
	Drawing template.HTML
}

// run runs an experiment, and draws it meanwhile.
func (s *Server) run(ctx context.Context, t trial) (r experiments.Result) {
	o := s.cfg.Options
	o.Trials, o.History, o.Seed = t.trials, history.NewRecorder(), rand.Uint64N(shortSeed)
	o.Command = s.cfg.Command(t.experiment, o)
	var shown progress
	s.follow(t.part, func(tell func(what string)) {
		o.Tell = func(_ experiments.Experiment, what string) { tell(what) }
		s.cfg.Prepare(ctx, t.experiment, tell)
		if t.saved {
			r = t.experiment.RunAndSave(ctx, s.cfg.Store, o)
			return
		}
		r.Saved = experiments.Saved{Experiment: t.experiment, Record: experiments.Run(ctx, t.experiment, o)}
		r.Judgement = t.experiment.Judge(r.Record)
	}, func(says string, tick bool) string {
		if shown.Says = says; tick {
			shown.Drawing = drawing(o.History.Last())
		}
		return s.fragment("runs", shown)
	})
	return r
}

// follow does work, and meanwhile puts into a part what show returns. It calls show when the work tells something, and at each tick while
// the part is watched. says is what was told last.
func (s *Server) follow(part string, work func(tell func(what string)), show func(says string, tick bool) string) {
	says := make(chan string, 1) // the newest sentence
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(func(what string) {
			select {
			case <-says:
			default:
			}
			says <- what
		})
	}()
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-done:
			return
		case said = <-says:
			s.board.put(part, show(said, false))
		case <-tick.C:
			if s.board.isWatched(part) { // drawing would disturb what is measured
				s.board.put(part, show(said, true))
			}
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
