package story

import (
	"fmt"
	"io"
	"slices"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/live/stage"
)

// Result is what a variant of a scene showed.
type Result struct {
	lab.VariantJudgement
	events []history.Event
	stage  stage.Options
}

// Results are those of a run: first the variant with a violation, and the control last.
func (s Scene) Results(run lab.Saved) (all []Result) {
	for _, v := range run.Judgement.Variants {
		trial, _ := run.Record.Telling(v)
		o := s.Stage
		o.Renews = v.Name == s.Renewed
		all = append(all, Result{v, history.Of(run.Record.Events, v.Name, trial), o})
	}
	if len(all) > 1 {
		all = slices.Concat(all[1:], all[:1])
	}
	return all
}

// Draw writes it as a drawing that can be played. While a class is asked what was lost, the drawing does not say it.
func (r Result) Draw(w io.Writer, asks bool) error {
	o := r.stage
	o.Asks = asks
	return stage.Write(w, r.events, r.Violation, o)
}

// Still writes who is there before the run.
func (s Scene) Still(w io.Writer) error { return stage.Write(w, nil, nil, s.Stage) }

// Steps are those of its drawing.
func (r Result) Steps() []stage.Step { return stage.Steps(r.events, r.Violation, r.stage) }

// Seen is what it showed, in a few words: where it can be counted, how many updates are lost.
func (r Result) Seen() string {
	if r.Violation == nil {
		return "no violation"
	}
	writes, final, what := 0, int64(-1), "updates"
	for _, e := range r.events {
		switch e.Kind {
		case history.Write:
			writes++
		case history.Final:
			final = e.Value
		case history.Left:
			return e.Text
		}
	}
	if r.stage.Copies > 0 {
		what = "views"
	}
	if lost := writes - int(final); final >= 0 && lost > 0 {
		return fmt.Sprintf("%d of %d %s lost", lost, writes, what)
	}
	return r.Violation.What
}
