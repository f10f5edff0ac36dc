package experiments

import (
	"context"
	"time"

	"locklab/experiments/steps"
	"locklab/history"
	"locklab/lockstrategy/naive"
)

// Experiment is one claim, and how to see whether it holds. Its arms act and record; Breach, a pure function, says
// what the record shows; the judge compares that with what the arms expect.
type Experiment struct {
	ID      string // stable, as in the catalogue: L03-foreign-unlock
	Article string // A0 … A4; of several: "A0, A2"
	Claim   string // one sentence
	Says    string // what the articles say about it, in our words
	Erratum string // what an article has wrong and this shows; empty: nothing
	Drawing string // the interleaving, as a drawing in text
	How     string // how the run makes it happen
	Anomaly string // its column in the matrix; empty: it has none

	Needs  []Need
	Docker bool          // its Redis can be the compose file's containers, too
	Alone  bool          // it measures, and has the machine to itself
	Slow   bool          // it waits for a real failover, or a real clock: not in --quick
	Takes  time.Duration // about, with its own number of trials, on two cores
	Trials int           // of each arm; 0: 3

	// Interleavings are what app lab step and app lab explore play with: locks made of steps, and what is expected of all
	// their orders.
	Interleavings []Interleavings

	Variants []Variant // the control first: without it nothing is shown
	Check    func(trial []history.Event) []history.Violation
}

// Variant is one way to run an experiment.
type Variant struct {
	Name     string
	Expect   Expect
	Strategy string // its row in the matrix; empty: it has none
	Anomaly  string // its column there, where that is not the experiment's
	Fault    bool   // each trial must record a fault with its proof, or it proves nothing
	Run      func(ctx context.Context, t *Trial) error
}

// Interleavings is a lock whose every order of steps is tried.
type Interleavings struct {
	Lock      naive.Lock
	Bounds    steps.Bounds
	Violation steps.Violation
	Expect    Expect // Never: held in all orders
}

// Control is the arm that shows that a breach is not there without its cause.
func (e Experiment) Control() Variant { return e.Variants[0] }

// trials is how often each arm runs unless something else is asked for.
func (e Experiment) trials() int {
	if e.Trials > 0 {
		return e.Trials
	}
	return 3
}

// Need is a program that must be on the PATH.
type Need string

// RedisServer is the real one.
const RedisServer Need = "redis-server"
