package html

import (
	"fmt"
	"html/template"
	"slices"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/report/drawing"
	"locklab/lab/report/outcome"
	"locklab/lab/scorecard"
)

type page struct {
	Title  string
	Whole  bool   // of a lab, not of one run
	Back   string // the address of the page that leads to this one; empty: there is none
	Runs   []run
	Counts []count
	Errata []run
	Shapes []drawing.Shape
	Tried  *scorecard.Scorecard // whose rows the runs are; nil: they are of the lab

	Policy string
	Style  template.CSS
	Script template.JS
}

type run struct {
	lab.Saved
	Open     bool   // its details are unfolded
	Own      string // where its own report is, from the page; empty: not known
	Bare     bool   // its record is not at hand, so that only its own report draws it
	Verdict  verdict
	Variants []variant
	Measured lab.Measurements
	Curve    *plot
}

// Earlier reports whether the page has runs that it does not draw.
func (p page) Earlier() bool { return slices.ContainsFunc(p.Runs, func(r run) bool { return r.Bare }) }

// Few reports whether the page draws so few runs that none is folded.
func (p page) Few() bool {
	drawn := slices.DeleteFunc(slices.Clone(p.Runs), func(r run) bool { return r.Bare })
	return p.Tried == nil && len(drawn) <= 3
}

// Address is where the run is drawn, from the page.
func (r run) Address() string {
	if r.Bare && r.Own != "" {
		return r.Own
	}
	return "#" + r.Experiment.ID
}

// Violated is the index of the first variant that is drawn with a violation, before what was measured; -1: there is none.
func (r run) Violated() int {
	return slices.IndexFunc(r.Variants, func(v variant) bool { return v.Telling && v.Violation != nil })
}

// LeftOut has a sentence for each reason why variants did not run.
func (r run) LeftOut() []string { return lab.VariantsLeftOut(r.Judgement) }

type variant struct {
	lab.VariantJudgement
	Verdict  verdict
	Promised bool   // no violation is what a lock promises, and nothing is predicted
	Telling  bool   // it is one of the few that say what the run showed
	Short    bool   // the run's own report draws it, and this page does not
	Trial    string // which one is drawn, and why
	Picture  *drawing.Drawing
	Bursts   []*plot
	Loads    *plot
	Shown    []history.Event // the evidence, with the time since the trial began
	Took     time.Duration
}

// Title is its name with the version that it runs, where the name does not say that.
func (v variant) Title() string {
	if version := outcome.Version(v.Name, v.Strategy); version != "" {
		return fmt.Sprintf("%s (%s)", v.Name, version)
	}
	return v.Name
}

func newPage(title string, f drawing.Format, saved ...lab.Saved) page {
	whole := f == drawing.InLab
	p := page{Title: title, Whole: whole, Shapes: drawing.Shapes}
	for _, s := range saved {
		r := run{Saved: s, Open: !whole, Verdict: verdictOf(s.Judgement.Verdict), Measured: s.Record.Measurements(), Curve: curveOf(s)}
		r.Bare = s.Record.Experiment == ""
		telling := outcome.Telling(s.Judgement.Variants)
		for i, j := range s.Judgement.Variants {
			v := variant{VariantJudgement: j, Verdict: styled(outcome.Variant(j)), Took: s.Record.TookBy(j.Name), Telling: telling[i]}
			v.Short = whole && !v.Telling
			if !v.Short {
				v.draw(s.Record, f)
			}
			r.Variants = append(r.Variants, v)
		}
		p.Runs = append(p.Runs, r)
		if len(s.Experiment.Errata) > 0 {
			p.Errata = append(p.Errata, r)
		}
	}
	p.Counts = counts(p.Runs)
	return p
}

// draw draws the trial that shows most.
func (v *variant) draw(r lab.Record, f drawing.Format) {
	trial, why := r.Telling(v.VariantJudgement)
	events := history.Of(r.Events, v.Name, trial)
	if len(events) == 0 {
		return
	}
	v.Trial = fmt.Sprintf("Trial %d, %s.", trial, why)
	v.Picture = drawing.Draw(events, v.Violation, f)
	v.Bursts = bursts(events)
	v.Loads = loadsOver(events)
	v.Shown = nil
	for _, e := range v.Evidence {
		e.At -= events[0].At
		v.Shown = append(v.Shown, e)
	}
}

// verdict is a verdict as a page shows it: by a sign, words and a colour.
type verdict struct {
	Class string // of the sign, and of the style
	Text  string
}

type count struct {
	verdict
	N int
}

// classes are those of the tones: the sign and the colour of each.
var classes = map[outcome.Tone]string{
	outcome.Good: "no-violation", outcome.Bad: "violation", outcome.Alarm: "unexpected", outcome.Unclear: "inconclusive",
	outcome.Neutral: "as-predicted",
}

func styled(o outcome.Outcome) verdict { return verdict{classes[o.Tone], o.Words} }

func verdictOf(v lab.Verdict) verdict { return styled(outcome.Whole(v)) }

func counts(runs []run) (all []count) {
	for _, v := range []lab.Verdict{lab.Unexpected, lab.Inconclusive, lab.AsExpected} {
		c := count{verdict: verdictOf(v)}
		for _, r := range runs {
			if r.Verdict == c.verdict {
				c.N++
			}
		}
		all = append(all, c)
	}
	return all
}
