package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/lab/history"
)

// Format is the version of the files that this program writes, and the only one that it reads.
const Format = 3

// Record is what a run of an experiment did and saw: enough to judge it again.
type Record struct {
	Format      int             `json:"format"`
	Experiment  string          `json:"experiment"`
	Claim       string          `json:"claim"`
	Command     string          `json:"command"` // that reproduces it
	Seed        uint64          `json:"seed"`
	Began       time.Time       `json:"began"`
	Took        time.Duration   `json:"took_ns"`
	Build       string          `json:"build"`
	Machine     string          `json:"machine"`              // operating system, processors, Go
	Redis       string          `json:"redis"`                // which Redis ran, with its version
	Containers  bool            `json:"containers,omitempty"` // it ran in containers
	Pace        Pace            `json:"pace,omitempty"`
	Variants    []VariantRecord `json:"variants"`
	Interrupted bool            `json:"interrupted,omitempty"`
	Left        string          `json:"left,omitempty"` // what an interrupted run could not remove
	Count       int             `json:"events"`         // how many the history has

	Events []history.Event `json:"-"`
}

// VariantRecord is what became of a variant. The experiment has its expectation.
type VariantRecord struct {
	Name    string        `json:"name"`
	Trials  []TrialRecord `json:"trials"`             // that ran to their end
	LeftOut string        `json:"left_out,omitempty"` // which program the machine did not have, and how to get it
}

// TrialRecord is what became of a trial.
type TrialRecord struct {
	Number  int           `json:"number"`
	Took    time.Duration `json:"took_ns"`
	Err     string        `json:"error,omitempty"`   // why it proves nothing
	Repeats int           `json:"repeats,omitempty"` // the trial before it, in whose place it ran; 0: none
	Late    bool          `json:"late,omitempty"`    // it failed because something was not done in time, and was repeated
	Pace    Pace          `json:"pace,omitempty"`    // of this trial, if it is not that of the run
}

// TookBy is how long the trials of a variant took.
func (r Record) TookBy(variant string) (all time.Duration) {
	for _, v := range r.Variants {
		if v.Name == variant {
			for _, t := range v.Trials {
				all += t.Took
			}
		}
	}
	return all
}

// Measured is what was measured of one timeline, of one quantity, in all trials of a variant.
type Measured struct {
	Quantity
	Variant  string  `json:"variant"`
	Timeline string  `json:"timeline"`
	Values   []int64 `json:"values"` // sorted; there is at least one
}

// Lowest is the smallest value.
func (m Measured) Lowest() int64 { return m.Values[0] }

// Median is the middle value; of an even number the mean of the two in the middle, rounded down.
func (m Measured) Median() int64 { n := len(m.Values); return (m.Values[(n-1)/2] + m.Values[n/2]) / 2 }

// Highest is the largest value.
func (m Measured) Highest() int64 { return m.Values[len(m.Values)-1] }

// Measures sums up what a run measured: by quantity, and of one quantity as it was first recorded.
func (r Record) Measures() (all []Measured) {
	for _, e := range r.Events {
		if e.Kind != history.Measure {
			continue
		}
		q := Quantity{e.Name, Unit(e.Unit)}
		i := slices.IndexFunc(all, func(m Measured) bool { return m.Quantity == q && m.Variant == e.Variant && m.Timeline == e.Timeline })
		if i < 0 {
			i, all = len(all), append(all, Measured{Quantity: q, Variant: e.Variant, Timeline: e.Timeline})
		}
		all[i].Values = append(all[i].Values, e.Value)
	}
	for _, m := range all {
		slices.Sort(m.Values)
	}
	slices.SortStableFunc(all, func(a, b Measured) int { return strings.Compare(a.sorted(), b.sorted()) })
	return all
}

// Point is a point of a curve: a timeline, and what was measured of it.
type Point struct {
	Timeline string
	X, Y     Measured
}

// Points are those of a run, as they were recorded. A timeline of which one quantity only was measured has none.
func (c Curve) Points(r Record) (all []Point) {
	measures := r.Measures()
	of := func(timeline string) int {
		return slices.IndexFunc(measures, func(m Measured) bool { return m.Variant == c.Variant && m.Timeline == timeline && m.Quantity == c.Y })
	}
	for _, x := range measures {
		if y := of(x.Timeline); x.Variant == c.Variant && x.Quantity == c.X && y >= 0 {
			all = append(all, Point{x.Timeline, x, measures[y]})
		}
	}
	return all
}

// Telling returns the number of the trial that shows most of a variant, and why: the first with a violation. Without one it is the
// first in which the most happened that a reader looks for, such as a refused write.
func (r Record) Telling(j VariantJudgement) (trial int, why string) {
	tells := make(map[int]int)
	for _, e := range r.Events {
		switch {
		case e.Variant != j.Name:
			continue
		case j.Violation != nil && len(j.Violation.Events) > 0 && e.Seq == j.Violation.Events[0]:
			return e.Trial, "the first with a violation"
		case slices.Contains([]history.Kind{history.Stale, history.Refuse, history.Lose, history.Fault}, e.Kind):
			tells[e.Trial]++
		}
		if trial == 0 {
			trial, why = e.Trial, "the first, which was cut short"
		}
	}
	whole := 0
	for _, v := range r.Variants {
		for _, t := range v.Trials {
			switch {
			case v.Name != j.Name:
			case t.Err == "" && (whole == 0 || tells[t.Number] > tells[whole]):
				whole = t.Number
			case t.Err != "" && t.Number == trial:
				why = "the first, which failed"
			}
		}
	}
	switch whole {
	case 0:
		return trial, why
	case trial:
		return whole, "the first"
	}
	return whole, "in which the most happened"
}

// readable is how many events a person follows in a drawing of text.
const readable = 32

// Story returns the trial that shows most of a variant, for a drawing of text: without measurements, without commands whose effect follows,
// and without what comes after the violation. Of a long trial it is only the evidence, and left is how many events that leaves out.
func (r Record) Story(j VariantJudgement) (events []history.Event, left int) {
	trial, _ := r.Telling(j)
	all := history.Of(r.Events, j.Name, trial)
	last := 0
	if j.Violation != nil && len(j.Violation.Events) > 0 {
		last = slices.Max(j.Violation.Events)
	}
	for i, e := range all {
		after := last > 0 && e.Seq > last && e.Kind != history.Final
		if e.Kind != history.Measure && !history.EffectFollows(all[i:]) && !after {
			events = append(events, e)
		}
	}
	if len(events) > readable || len(events) == 0 {
		return j.Evidence, max(0, len(events)-len(j.Evidence))
	}
	return events, 0
}

// Measurements are what a run measured, as a table: a row for each variant and timeline, a column for each quantity.
type Measurements struct {
	Units []string
	Rows  []MeasuredRow
}

// MeasuredRow is a row of it.
type MeasuredRow struct {
	Variant, Timeline string
	Cells             []string // the median, and the lowest and the highest where they differ; a dash: not measured
}

// Measurements sums up what a run measured, in the order of its variants.
func (r Record) Measurements() (m Measurements) {
	for _, one := range r.Measures() {
		unit := slices.Index(m.Units, one.Label())
		if unit < 0 {
			unit, m.Units = len(m.Units), append(m.Units, one.Label())
		}
		row := slices.IndexFunc(m.Rows, func(r MeasuredRow) bool { return r.Variant == one.Variant && r.Timeline == one.Timeline })
		if row < 0 {
			row, m.Rows = len(m.Rows), append(m.Rows, MeasuredRow{Variant: one.Variant, Timeline: one.Timeline})
		}
		for i := range m.Rows {
			for len(m.Rows[i].Cells) < len(m.Units) {
				m.Rows[i].Cells = append(m.Rows[i].Cells, "–")
			}
		}
		text := one.Text(one.Median())
		if one.Lowest() != one.Highest() {
			text += fmt.Sprintf(" (%s to %s)", one.Text(one.Lowest()), one.Text(one.Highest()))
		}
		m.Rows[row].Cells[unit] = text
	}
	order := func(variant string) int {
		return slices.IndexFunc(r.Variants, func(v VariantRecord) bool { return v.Name == variant })
	}
	slices.SortStableFunc(m.Rows, func(a, b MeasuredRow) int { return order(a.Variant) - order(b.Variant) })
	return m
}
