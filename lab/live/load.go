package live

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"locklab/internal/sentence"
	"locklab/lab/burst"
	"locklab/lab/live/bench"
	"locklab/lab/report/html"
	"locklab/lab/report/outcome"
	"locklab/lab/watch"
)

// loadPart shows the load.
const loadPart = "load"

// A load when the trainer has not chosen another.
const loadVersion, loadClients, loadRate = "v3", 20, 200

// Seconds in the plot, and its width: that of a projector, and that of a phone.
const (
	secondsWide, wide     = 60, 860
	secondsNarrow, narrow = 24, 360
)

// startLoad queues a load, unless there is one: other runs wait until it has ended.
func (s *Server) startLoad(r *http.Request) error {
	version := r.FormValue("version")
	clients, _ := strconv.Atoi(r.FormValue("clients")) // a load refuses 0, too
	rate, wrong := strconv.Atoi(cmp.Or(r.FormValue("rate"), "0"))
	if wrong != nil {
		rate = -1
	}
	l, err := s.bench.NewLoad(version, clients, rate)
	if err == nil && s.isBusy(loadPart) {
		err = bench.ErrLoad
	}
	if err != nil {
		return err
	}
	if err := s.start(job{loadPart, link{"/ui/servers", "The load on Servers"}, func(ctx context.Context) func() {
		s.sustain(ctx, l)
		text := s.fragment("loaded", loadView{s.bench.Load(0)})
		return func() { s.board.put(loadPart, text) }
	}}); err != nil {
		return err
	}
	s.board.putEach("load-line", func(v viewer) string {
		if !v.Trains() {
			return ""
		}
		form := fmt.Sprintf("'version=%s&clients=%d&rate=%d'", version, clients, rate)
		return s.fragment("load-line-now", s.curl(v.Origin, form)+"/ui/servers/load")
	})
	return nil
}

// stopLoad stops the load, or the start of the instances.
func (s *Server) stopLoad(*http.Request) error {
	switch {
	case s.bench.Stop(): // it waits for its last answers
	case s.isBusy(loadPart):
		s.stop(loadPart)
	case s.isBusy("instances"):
		s.stop("instances")
	default:
		return bench.ErrNoLoad
	}
	return nil
}

// sustain sends the load, and shows meanwhile how many views are answered.
func (s *Server) sustain(ctx context.Context, l *burst.Load) {
	var starting atomic.Pointer[string]
	s.follow(redraw, func(changed func()) {
		s.bench.Send(ctx, l, func(what string) { starting.Store(&what); changed() })
	}, func() {
		s.board.putMade(loadPart, func() string {
			if what := *starting.Load(); what != "" {
				return s.fragment("starting", what)
			}
			return s.fragment("loading", loadView{s.bench.Load(secondsWide)})
		})
	})
}

// loadView is a load as the page shows it.
type loadView struct{ *bench.Load }

// Wide draws the answers, waits and losses, second by second.
func (v loadView) Wide() template.HTML { return v.draw(wide, secondsWide) }

// Narrow is Wide on a phone.
func (v loadView) Narrow() template.HTML { return v.draw(narrow, secondsNarrow) }

func (v loadView) draw(width float64, seconds int) template.HTML {
	of := v.Rates
	if v.Ended {
		seconds = max(seconds, len(of.Seconds))
	}
	if older := len(of.Seconds) - seconds; older > 0 {
		of.Seconds, of.Before = of.Seconds[older:], of.Before+older
	}
	moments := make([]html.Moment, len(v.Changes))
	for i, c := range v.Changes {
		moments[i] = html.Moment{At: c.At.Sub(v.Began), Text: c.What}
	}
	return markup(func(w io.Writer) error { return html.Rates(w, of, width, seconds, moments) })
}

// Title is that of the version.
func (v loadView) Title() string {
	version, _ := watch.Load(v.Version)
	return version.Title
}

// Says is the outcome of a load that is judged.
func (v loadView) Says() outcome.Outcome {
	return outcome.Views(v.Version, v.Views.Counts(), v.Verdict)
}

// Class is that of the sentence about the outcome.
func (v loadView) Class() string { return answerOf(v.Says()) }

// Why is the failure of a load that has no result, or else the newest failure of a request.
func (v loadView) Why() string {
	switch {
	case v.Err != nil:
		return sentence.Of(v.Err)
	case v.Rates.Why != "":
		return fmt.Sprintf("Newest error, %s: %s", v.WhyAt.Format(time.TimeOnly), v.Rates.Why)
	}
	return ""
}

// Anew says why the counter began again; empty: it did not.
func (v loadView) Anew() string {
	for _, c := range slices.Backward(v.Changes) {
		if c.Empty != "" && v.FellAt.After(c.At) {
			return c.Empty + " restarted empty, so the counter began again at 0"
		}
	}
	return ""
}

// Slow is the wait that 99 of 100 views do not exceed, in words.
func (v loadView) Slow() string {
	p99 := v.P99()
	switch {
	case p99 == 0:
		return "–"
	case p99 < time.Second:
		return fmt.Sprintf("%d ms", p99.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", p99.Seconds())
}
