package experiments

import (
	"slices"
	"strings"
	"time"

	"locklab/history"
)

// Format is the version of the files that this program writes, and the only one that it reads.
const Format = 2

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
	Machine     string          `json:"machine"` // operating system, processors, Go
	Redis       string          `json:"redis"`   // which Redis ran, with its version
	Variants    []VariantRecord `json:"variants"`
	Interrupted bool            `json:"interrupted,omitempty"`
	Left        string          `json:"left,omitempty"` // what an interrupted run could not remove
	Count       int             `json:"events"`         // how many the history has

	Events []history.Event `json:"-"`
}

// VariantRecord is what became of a variant. What was expected of it stands in the experiment, not here.
type VariantRecord struct {
	Name   string        `json:"name"`
	Trials []TrialRecord `json:"trials"` // that ran to their end
}

// TrialRecord is what became of a trial.
type TrialRecord struct {
	Number int           `json:"number"`
	Took   time.Duration `json:"took_ns"`
	Err    string        `json:"error,omitempty"` // why it proves nothing
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

// Measured is what was measured of one timeline, in one unit, in all trials of a variant.
type Measured struct {
	Unit, Variant, Timeline string
	Values                  []int64 // sorted; there is at least one
}

// Lowest is the smallest value.
func (m Measured) Lowest() int64 { return m.Values[0] }

// Median is the middle value; of an even number the smaller one of both.
func (m Measured) Median() int64 { return m.Values[(len(m.Values)-1)/2] }

// Highest is the largest value.
func (m Measured) Highest() int64 { return m.Values[len(m.Values)-1] }

// Measures sums up what a run measured: by unit, and of one unit as it was first recorded.
func (r Record) Measures() (all []Measured) {
	for _, e := range r.Events {
		if e.Kind != history.Measure {
			continue
		}
		i := slices.IndexFunc(all, func(m Measured) bool { return m.Unit == e.Text && m.Variant == e.Variant && m.Timeline == e.Timeline })
		if i < 0 {
			i, all = len(all), append(all, Measured{Unit: e.Text, Variant: e.Variant, Timeline: e.Timeline})
		}
		all[i].Values = append(all[i].Values, e.Value)
	}
	for _, m := range all {
		slices.Sort(m.Values)
	}
	slices.SortStableFunc(all, func(a, b Measured) int { return strings.Compare(a.Unit, b.Unit) })
	return all
}
