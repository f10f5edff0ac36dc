package report

import (
	"fmt"
	"html/template"
	"runtime/debug"
	"slices"
	"strings"
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
	Open     bool // shown without being asked for
	Verdict  verdict
	Drawing  string
	Arms     []arm
	Measures []measured
	Facts    []fact
	Clocks   []string
}

// arm is one arm of an experiment on the page.
type arm struct {
	experiments.VariantJudgement
	Verdict  verdict
	Expects  string
	Ran      string // how many trials
	Trial    string // which one is drawn, and why that
	Picture  *drawing
	Bursts   []burst
	Waits    *waits
	Evidence []row
	Lanes    string // the evidence as lanes of text
	Took     string
}

// row is an event in a table.
type row struct {
	history.Event
	Time string
	Text string
}

// fact is a line of what one needs to know about a run.
type fact struct{ Name, Text string }

func newPage(title string, whole bool, entries ...Entry) page {
	p := page{Title: title, Whole: whole, Shapes: shapes}
	for _, entry := range entries {
		p.Runs = append(p.Runs, newRun(entry, !whole))
	}
	p.Counts = counts(p.Runs)
	for _, r := range p.Runs {
		if r.Experiment.Erratum != "" {
			p.Errata = append(p.Errata, r)
		}
	}
	return p
}

func newRun(entry Entry, open bool) run {
	e, r, j := entry.Experiment, entry.Record, entry.Judgement
	shown := run{Entry: entry, Open: open, Verdict: verdictOf(j.Verdict), Drawing: strings.Trim(e.Drawing, "\n"), Measures: measures(r)}
	for _, a := range j.Variants {
		shown.Arms = append(shown.Arms, newArm(r, a, len(shown.Measures) > 0))
	}
	shown.Facts = facts(r)
	for _, c := range r.Clocks {
		shown.Clocks = append(shown.Clocks, clock(c))
	}
	return shown
}

func newArm(r experiments.Record, j experiments.VariantJudgement, measured bool) arm {
	a := arm{VariantJudgement: j, Verdict: armVerdict(j), Expects: expects(j), Ran: number(j.Trials, "trial"), Took: seconds(r.TookBy(j.Name))}
	number, why := choose(r, j)
	events := history.Of(r.Events, j.Name, number)
	if len(events) == 0 {
		return a
	}
	a.Trial = fmt.Sprintf("Trial %d, %s.", number, why)
	began := events[0].At
	a.Picture = draw(events, j.Violation)
	a.Bursts = bursts(events)
	if measured {
		a.Waits = waiting(events)
	}
	for i := range j.Evidence {
		e := j.Evidence[i]
		a.Evidence = append(a.Evidence, row{Event: e, Time: milliseconds(e.At - began), Text: e.Summary()})
	}
	a.Lanes = history.Timelines(since(began, j.Evidence))
	return a
}

// since returns events with the times that have gone by since began.
func since(began time.Duration, events []history.Event) []history.Event {
	later := slices.Clone(events)
	for i := range later {
		later[i].At -= began
	}
	return later
}

// choose returns the number of the trial to draw: the first with a breach, else the first of which there is anything.
func choose(r experiments.Record, j experiments.VariantJudgement) (number int, why string) {
	for _, e := range r.Events {
		if j.Violation != nil && len(j.Violation.Events) > 0 && e.Seq == j.Violation.Events[0] {
			return e.Trial, "the first with a breach"
		}
	}
	for _, e := range r.Events {
		if e.Variant == j.Name {
			return e.Trial, "the first" + cut(r, j.Name, e.Trial)
		}
	}
	return 0, ""
}

// cut says that a trial did not come to its end.
func cut(r experiments.Record, name string, number int) string {
	for _, a := range r.Variants {
		if a.Name != name {
			continue
		}
		for _, t := range a.Trials {
			if t.Number == number && t.Err == "" {
				return ""
			}
			if t.Number == number {
				return ", which failed"
			}
		}
	}
	return ", which was cut short"
}

func facts(r experiments.Record) []fact {
	all := []fact{
		{"Seed", fmt.Sprint(r.Seed)},
		{"Began", began(r.Began)},
		{"Took", seconds(r.Took)},
		{"Locklab", r.Build},
		{"Redis", r.Redis},
		{"Machine", r.Machine},
		{"Events", fmt.Sprintf("%d, in history.jsonl of the saved run", len(r.Events))},
		{"Checked with", porcupine()},
	}
	if r.Interrupted {
		all = append(all, fact{"Interrupted", "yes: what was recorded until then is kept"})
	}
	return slices.DeleteFunc(all, func(f fact) bool { return f.Text == "" })
}

func began(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02 15:04:05 UTC")
}

// porcupine names the checker that must agree with our own.
func porcupine() string {
	const path = "github.com/anishathalye/porcupine"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return "our own checks and porcupine " + m.Version
			}
		}
	}
	return "our own checks and porcupine"
}

func clock(c experiments.Clock) string {
	if c.Offset == 0 && c.Error == 0 {
		return c.Process + ": the history's own"
	}
	return fmt.Sprintf("%s: %s ms ahead of the lab's, give or take %s", c.Process, milliseconds(c.Offset), milliseconds(c.Error))
}
