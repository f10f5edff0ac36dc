package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

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
	Drawing  string
	Variants []variant
	Measures []measured
	Facts    []fact
}

// variant is one variant of an experiment on the page.
type variant struct {
	experiments.VariantJudgement
	Verdict  verdict
	Trials   string // how many there were
	Trial    string // which one is drawn, and why
	Picture  *drawing
	Bursts   []burst
	Waits    *waits
	Evidence []row
	Text     string // the evidence as a timeline of text
	Took     string
}

// row is an event in a table.
type row struct {
	history.Event
	Time string
	Text string
}

// fact is a line about a run.
type fact struct{ Name, Text string }

func newPage(title string, whole bool, entries ...Entry) page {
	p := page{Title: title, Whole: whole, Shapes: shapes}
	for _, entry := range entries {
		r := newRun(entry, !whole)
		p.Runs = append(p.Runs, r)
		if entry.Experiment.Erratum != "" {
			p.Errata = append(p.Errata, r)
		}
	}
	p.Counts = counts(p.Runs)
	return p
}

func newRun(entry Entry, open bool) run {
	r := run{
		Entry: entry, Open: open, Verdict: verdictOf(entry.Judgement.Verdict), Drawing: strings.Trim(entry.Experiment.Drawing, "\n"),
		Measures: measures(entry.Record), Facts: facts(entry.Record),
	}
	for _, j := range entry.Judgement.Variants {
		r.Variants = append(r.Variants, newVariant(entry.Record, j, len(r.Measures) > 0))
	}
	return r
}

func newVariant(r experiments.Record, j experiments.VariantJudgement, measured bool) variant {
	v := variant{VariantJudgement: j, Verdict: variantVerdict(j), Trials: number(j.Trials, "trial"), Took: seconds(r.TookBy(j.Name))}
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
	evidence := slices.Clone(j.Evidence)
	for i := range evidence {
		evidence[i].At -= events[0].At
		v.Evidence = append(v.Evidence, row{Event: evidence[i], Time: milliseconds(evidence[i].At), Text: evidence[i].Summary()})
	}
	v.Text = history.Timelines(evidence)
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

func facts(r experiments.Record) []fact {
	began := ""
	if !r.Began.IsZero() {
		began = r.Began.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	all := []fact{
		{"Seed", fmt.Sprint(r.Seed)},
		{"Began", began},
		{"Took", seconds(r.Took)},
		{"Locklab", r.Build},
		{"Redis", r.Redis},
		{"Machine", r.Machine},
		{"Events", fmt.Sprintf("%d, in history.jsonl of the saved run", len(r.Events))},
		{"Checked with", "our own checks and porcupine"},
	}
	if r.Interrupted {
		all = append(all, fact{"Interrupted", "yes: the page shows what was recorded until then"})
	}
	for _, c := range r.Clocks {
		all = append(all, fact{"Clock", clock(c)})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Text == "" })
}

func clock(c experiments.Clock) string {
	if c.Offset == 0 && c.Error == 0 {
		return c.Process + ": the history's own"
	}
	return fmt.Sprintf("%s: %s ms ahead of the lab's, give or take %s", c.Process, milliseconds(c.Offset), milliseconds(c.Error))
}
