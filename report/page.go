package report

import (
	"fmt"
	"html/template"
	"time"

	"locklab/experiments"
	"locklab/history"
)

// page is what the templates show.
type page struct {
	Title  string
	Whole  bool // of a lab, not of one run
	Runs   []run
	Counts []count
	Errata []run
	Shapes []shape

	Policy string
	Style  template.CSS
	Script template.JS
}

// run is one experiment on the page.
type run struct {
	Entry
	Open     bool // its details are unfolded
	Verdict  verdict
	Variants []variant
	Measures []measured
}

// variant is one variant of an experiment on the page.
type variant struct {
	experiments.VariantJudgement
	Verdict  verdict
	Trial    string // which one is drawn, and why
	Picture  *drawing
	Bursts   []burst
	Waits    *waits
	Evidence []history.Event // with the time since the trial began
	Took     time.Duration
}

func newPage(title string, whole bool, entries ...Entry) page {
	p := page{Title: title, Whole: whole, Shapes: shapes}
	for _, entry := range entries {
		r := run{Entry: entry, Open: !whole, Verdict: verdictOf(entry.Judgement.Verdict), Measures: measures(entry.Record)}
		for _, j := range entry.Judgement.Variants {
			r.Variants = append(r.Variants, newVariant(entry.Record, j, len(r.Measures) > 0))
		}
		p.Runs = append(p.Runs, r)
		if entry.Experiment.Erratum != "" {
			p.Errata = append(p.Errata, r)
		}
	}
	p.Counts = counts(p.Runs)
	return p
}

func newVariant(r experiments.Record, j experiments.VariantJudgement, measured bool) variant {
	v := variant{VariantJudgement: j, Verdict: variantVerdict(j), Took: r.TookBy(j.Name)}
	trial, why := choose(r, j)
	events := history.Of(r.Events, j.Name, trial)
	if len(events) == 0 {
		return v
	}
	v.Trial = fmt.Sprintf("Trial %d, %s.", trial, why)
	v.Picture = draw(events, j.Violation)
	v.Bursts = bursts(events)
	if measured {
		v.Waits = waiting(events)
	}
	for _, e := range j.Evidence {
		e.At -= events[0].At
		v.Evidence = append(v.Evidence, e)
	}
	return v
}

// choose returns the number of the trial to draw: the first with a violation, or the first that recorded something.
func choose(r experiments.Record, j experiments.VariantJudgement) (trial int, why string) {
	first := -1
	for i, e := range r.Events {
		if j.Violation != nil && len(j.Violation.Events) > 0 && e.Seq == j.Violation.Events[0] {
			return e.Trial, "the first with a violation"
		}
		if first < 0 && e.Variant == j.Name {
			first = i
		}
	}
	if first < 0 {
		return 0, ""
	}
	trial, why = r.Events[first].Trial, "the first, which was cut short"
	for _, v := range r.Variants {
		for _, t := range v.Trials {
			switch {
			case v.Name != j.Name || t.Number != trial:
			case t.Err == "":
				why = "the first"
			default:
				why = "the first, which failed"
			}
		}
	}
	return trial, why
}
