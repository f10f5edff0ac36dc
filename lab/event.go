package lab

import (
	"fmt"
	"time"

	"locklab/lab/history"
)

// Event is what a run tells as it happens. The first is [Started], and the last [Finished]. Each variant has a [VariantBegan]. Each trial
// has a [TrialBegan], many [Stepped], and a [TrialJudged]. The terminal, the live page and tests read the same events.
//
// A run tells its events one after the other, and waits until the receiver returns. The receiver must be fast, because clients are
// measured. The run keeps nothing for a receiver, which bounds what it keeps itself. Runs that go on simultaneously tell theirs
// concurrently; each event names its experiment.
//
// What is NOT guaranteed: the last events of a run that is stopped. A trial that is cut short is not judged, and a variant that has not
// begun is not told. Finished always comes, and its record says that the run was interrupted.
type Event interface{ event() }

// Started is the first event of a run.
type Started struct {
	Experiment string        // its id, as in all other events
	Trials     int           // of all variants, without repeats
	Takes      time.Duration // about
}

// VariantBegan is told before the first trial of a variant.
type VariantBegan struct {
	Experiment, Variant string
	Expect              Expect
	Trials              int    // without repeats
	LeftOut             string // why it does not run; empty: it does
}

// TrialBegan is told before the servers of a trial are started.
type TrialBegan struct {
	Experiment, Variant string
	Number              int // of the trial in the record; repeats count
	Trial, Trials       int // the n-th of all, without repeats
	Repeat              int // of this trial, at most [MostRepeats]; 0: none
}

// String says which trial it is.
func (e TrialBegan) String() string {
	repeat := ""
	if e.Repeat > 0 {
		repeat = fmt.Sprintf(", repeat %d of at most %d", e.Repeat, MostRepeats)
	}
	return fmt.Sprintf("%s, trial %d of %d%s", e.Variant, e.Trial, e.Trials, repeat)
}

// Stepped is one thing that was recorded: what a client or a server did, a measurement, or a fault with its proof.
type Stepped struct {
	Experiment string
	Step       history.Event
}

// TrialJudged is told when a trial has ended, and everything that it started is removed.
type TrialJudged struct {
	Experiment, Variant string
	Number              int
	Violation           *history.Violation // the first; nil: none
	Err                 string             // why the trial proves nothing; empty: the checkers of the whole run have the last word
	Late                bool               // it was late, and is repeated
}

// Finished is the last event of a run.
type Finished struct {
	Experiment string
	Result     Result
}

func (Started) event()      {}
func (VariantBegan) event() {}
func (TrialBegan) event()   {}
func (Stepped) event()      {}
func (TrialJudged) event()  {}
func (Finished) event()     {}
