// Package matrix sums saved runs up: which lock was violated by which anomaly.
//
// What is NOT guaranteed: a lock without a violation had none in the trials that ran, under the faults that they had. An
// anomaly that was not tested says nothing.
package matrix

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/lab"
)

// State is what is known of a lock under an anomaly. The zero state is that nothing is.
type State int

// The states, the one that says most last: of several runs of a cell it is the one that counts.
const (
	NotTested State = iota
	NotApplicable
	NoViolation
	Undecided // it was tested, and nothing was shown: it counts as not tested
	Violated
)

// Cell is what became of a lock under an anomaly.
type Cell struct {
	State  State
	Trials int      // without a violation
	Why    string   // it does not apply, or was not shown; or the counterexample
	Shown  []string // by which experiments
}

// Matrix has a row for each strategy and a column for each anomaly.
type Matrix struct {
	Strategies []string
	Anomalies  []string
	Missing    []string // numbers of the experiments without a run, whose cells no other run fills
	cells      map[at]Cell
}

type at struct{ strategy, anomaly string }

// Of sums runs up. A strategy or an anomaly that is not known here comes after the others.
func Of(all []lab.Experiment, runs []lab.Saved) Matrix {
	m := Matrix{Strategies: slices.Clone(strategies), Anomalies: slices.Clone(anomalies), cells: make(map[at]Cell)}
	fills := make(map[at][]string)
	for _, e := range all {
		saved := slices.IndexFunc(runs, func(s lab.Saved) bool { return s.Judgement.Experiment == e.ID })
		for i, variant := range e.Variants {
			where := at{variant.Strategy, cmp.Or(variant.Anomaly, e.Anomaly)}
			if where.strategy == "" || where.anomaly == "" {
				continue
			}
			m.Strategies, m.Anomalies = with(m.Strategies, where.strategy), with(m.Anomalies, where.anomaly)
			if saved >= 0 {
				m.cells[where] = m.cells[where].and(cellOf(runs[saved], i))
			} else {
				fills[where] = append(fills[where], lab.Number(e.ID))
			}
		}
	}
	for where, experiments := range fills {
		if m.cells[where].State == NotTested {
			m.Missing = append(m.Missing, experiments[0])
		}
	}
	slices.Sort(m.Missing)
	m.Missing = slices.Compact(m.Missing)
	return m
}

func with(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// cellOf is what one variant of a run shows.
func cellOf(run lab.Saved, i int) Cell {
	c := Cell{Shown: []string{run.Judgement.Experiment}}
	if run.Judgement.Void || i >= len(run.Judgement.Variants) {
		c.State, c.Why = Undecided, run.Judgement.Why
		return c
	}
	switch v := run.Judgement.Variants[i]; {
	case v.Verdict == lab.Inconclusive:
		c.State, c.Why = Undecided, v.Why
	case v.Violations > 0:
		c.State, c.Why = Violated, v.Violation.What
	default:
		c.State, c.Trials = NoViolation, v.Trials
	}
	return c
}

// and adds what another variant shows. A violation outweighs trials without one. Where one variant showed nothing, another
// without a violation is not enough.
func (c Cell) and(other Cell) Cell {
	switch {
	case other.State > c.State:
		return other
	case other.State == c.State:
		c.Trials += other.Trials
		for _, experiment := range other.Shown {
			c.Shown = with(slices.Clone(c.Shown), experiment)
		}
	}
	return c
}

// Cell returns what is known. A cell without a run, or to which the anomaly does not apply, says why.
func (m Matrix) Cell(strategy, anomaly string) Cell {
	where := at{strategy, anomaly}
	c := m.cells[where]
	if why := where.reason(); why != "" && c.State == NotTested {
		return Cell{State: NotApplicable, Why: why}
	}
	return c
}

// String is the cell in a few words.
func (c Cell) String() string {
	switch c.State {
	case Undecided:
		return fmt.Sprintf("not tested (the run showed nothing: %s)", c.Why)
	case NoViolation:
		if c.Trials == 1 {
			return "no violation in 1 trial"
		}
		return fmt.Sprintf("no violation in %d trials", c.Trials)
	case Violated:
		return fmt.Sprintf("violated (%s)", c.Why)
	case NotApplicable:
		return "not applicable"
	}
	return "not tested"
}

// Short is the cell in a word or two, for a narrow table.
func (c Cell) Short() string {
	switch c.State {
	case NoViolation:
		return fmt.Sprintf("0 of %d", c.Trials)
	case Violated:
		return "violated"
	case NotApplicable:
		return "n/a"
	}
	return "-"
}
