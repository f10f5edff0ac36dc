// Package matrix sums saved runs up: which lock held and which broke, anomaly by anomaly.
//
// What is NOT guaranteed: a lock that held did so in the trials that ran, under the faults that they had. What was not
// tested is not said to hold.
package matrix

import (
	"fmt"
	"slices"
	"strings"

	"locklab/experiments"
)

// State is what is known of a lock under an anomaly. The zero state is that nothing is.
type State int

// The states, the one that says most last: of several runs of a cell it is the one that counts.
const (
	NotTested State = iota
	NotApplicable
	Held
	Undecided // it was tested, and nothing was shown: it counts as not tested
	Broken
)

// Cell is what became of a lock under an anomaly.
type Cell struct {
	State  State
	Trials int     // in which it held
	Why    string  // it does not apply, or was not shown; or the witness
	Shown  []Shown // by which runs
}

// Shown is an arm of a saved run that a cell rests on.
type Shown struct {
	Experiment string
	Arm        string
	Command    string // that repeats it
	Dir        string // where it is saved
}

// Matrix has a row for each strategy and a column for each anomaly.
type Matrix struct {
	Strategies []string
	Anomalies  []string
	cells      map[at]Cell
}

type at struct{ strategy, anomaly string }

// Of sums runs up. A row or column of an arm that is not known here comes after the others.
func Of(all []experiments.Experiment, runs []experiments.Saved) Matrix {
	m := Matrix{slices.Clone(strategies), slices.Clone(anomalies), make(map[at]Cell)}
	for _, e := range all {
		saved := slices.IndexFunc(runs, func(s experiments.Saved) bool { return s.Judgement.Experiment == e.ID })
		for i, arm := range e.Variants {
			where := at{arm.Strategy, column(e, arm)}
			if where.strategy == "" || where.anomaly == "" {
				continue
			}
			m.Strategies, m.Anomalies = with(m.Strategies, where.strategy), with(m.Anomalies, where.anomaly)
			if saved >= 0 {
				m.cells[where] = m.cells[where].and(cellOf(runs[saved], i, arm))
			}
		}
	}
	return m
}

// column is the anomaly of an arm.
func column(e experiments.Experiment, arm experiments.Variant) string {
	if arm.Anomaly != "" {
		return arm.Anomaly
	}
	return e.Anomaly
}

func with(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// cellOf is what one arm of a run shows.
func cellOf(run experiments.Saved, i int, arm experiments.Variant) Cell {
	c := Cell{Shown: []Shown{{run.Judgement.Experiment, arm.Name, run.Record.Command, run.Dir}}}
	if run.Judgement.Void || i >= len(run.Judgement.Variants) {
		c.State, c.Why = Undecided, run.Judgement.Why
		return c
	}
	switch a := run.Judgement.Variants[i]; {
	case a.Verdict == experiments.Inconclusive:
		c.State, c.Why = Undecided, a.Why
	case a.Violations > 0:
		c.State, c.Why = Broken, a.Violation.What
	default:
		c.State, c.Trials = Held, a.Trials
	}
	return c
}

// and adds what another arm shows: broken wins, and where one arm showed nothing another that held is not enough.
func (c Cell) and(other Cell) Cell {
	switch {
	case other.State > c.State:
		return other
	case other.State == c.State:
		c.Trials += other.Trials
		c.Shown = append(c.Shown, other.Shown...)
	}
	return c
}

// Cell returns what is known. What was not run and does not apply says why.
func (m Matrix) Cell(strategy, anomaly string) Cell {
	c := m.cells[at{strategy, anomaly}]
	if c.State == NotTested {
		if why := notApplicable(strategy, anomaly); why != "" {
			return Cell{State: NotApplicable, Why: why}
		}
	}
	return c
}

// String is the cell in a few words.
func (c Cell) String() string {
	switch c.State {
	case Undecided:
		return fmt.Sprintf("not tested (the run showed nothing: %s)", c.Why)
	case Held:
		return fmt.Sprintf("held in %d trials", c.Trials)
	case Broken:
		return fmt.Sprintf("broken (%s)", c.Why)
	case NotApplicable:
		return "not applicable"
	}
	return "not tested"
}

// Short is the cell in a word or two, for a narrow table.
func (c Cell) Short() string {
	switch c.State {
	case Held:
		return fmt.Sprintf("held, %d", c.Trials)
	case Broken:
		return "broken"
	case NotApplicable:
		return "n/a"
	}
	return "-"
}

// By names the experiments that the cell rests on.
func (c Cell) By() string {
	var ids []string
	for _, s := range c.Shown {
		if !slices.Contains(ids, s.Experiment) {
			ids = append(ids, s.Experiment)
		}
	}
	return strings.Join(ids, ", ")
}
