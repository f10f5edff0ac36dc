package experiments

import (
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
	Clocks      []Clock         `json:"clocks"`
	Variants    []VariantRecord `json:"variants"`
	Interrupted bool            `json:"interrupted,omitempty"`
	Left        string          `json:"left,omitempty"` // what an interrupted run could not remove
	Count       int             `json:"events"`         // how many the history has

	Events []history.Event `json:"-"`
}

// Clock is by how much the clock of a process differs from the lab's: its time less the lab's at the same moment.
type Clock struct {
	Process string        `json:"process"`
	Offset  time.Duration `json:"offset_ns"`
	Error   time.Duration `json:"error_ns"` // of the offset, at most: half of the round trip in which it was asked
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
