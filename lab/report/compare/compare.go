package compare

import (
	"fmt"
	"slices"
	"strings"

	"locklab/lab"
	"locklab/lab/claims/faults"
	"locklab/lab/report/benchfile"
	"locklab/lab/report/matrix"
)

const (
	notMeasured = "not measured"
	notTested   = "not tested"
)

// Cell is a figure or a few words, and what it rests on.
type Cell struct {
	Text  string
	Known bool     // there is a run behind it
	By    []string // ids of experiments; none: the benchmark, or a fact
}

// Comparison is what the cells of the locks are from.
type Comparison struct {
	bench  Bench
	runs   []lab.Saved
	matrix matrix.Matrix
}

// Of compares the locks by saved runs of experiments and by the file of the benchmark.
func Of(all []lab.Experiment, runs []lab.Saved, b Bench) Comparison {
	return Comparison{bench: b, runs: runs, matrix: matrix.Of(all, runs)}
}

// dead is how long the key of a holder that has died stays locked.
func (c Comparison) dead(f Facts) Cell { return timed(c.runs, lab.NextGrant, f.Version) }

// gap is how long nobody is granted the lock after the death of its leader.
func (c Comparison) gap(f Facts) Cell {
	if f.Leader == "" {
		return Cell{Text: "no leader"}
	}
	return timed(runsOf(c.runs, f.Leader), lab.NoGrant, f.Version)
}

// burst is how long a row took for a burst. Where no run served all waiters, it says how many were served.
func (c Comparison) burst(row string) Cell {
	if row == "" {
		return Cell{Text: "–"}
	}
	if s, ok := c.bench.Median(together, row, benchfile.Seconds); ok {
		return Cell{Text: benchfile.Digits(s*1e3) + " ms", Known: true}
	}
	if r, any := c.bench.failed(together, row); any {
		return served(r)
	}
	return Cell{Text: notMeasured}
}

// served says how many waiters a run served that did not serve all.
func served(r Run) Cell {
	return Cell{Text: fmt.Sprintf("**%d of %d served** in %s s", r.Done, r.Want, benchfile.Digits(r.Seconds))}
}

func measured(format string) func(float64, bool) Cell {
	return func(x float64, ok bool) Cell {
		if !ok {
			return Cell{Text: notMeasured}
		}
		return Cell{Text: fmt.Sprintf(format, benchfile.Digits(x)), Known: true}
	}
}

// timed is the median of a time that was measured with a lock.
func timed(runs []lab.Saved, of lab.Quantity, version string) Cell {
	for _, run := range runs {
		for _, m := range run.Record.Measures() {
			if m.Quantity == of && !run.Judgement.Void && tests(run, m.Variant, version) {
				ms, _ := of.Milliseconds(m.Median())
				return Cell{Text: benchfile.Digits(ms) + " ms", Known: true, By: []string{run.Judgement.Experiment}}
			}
		}
	}
	return Cell{Text: notTested}
}

// runsOf are the runs of an experiment.
func runsOf(runs []lab.Saved, id string) []lab.Saved {
	return slices.DeleteFunc(slices.Clone(runs), func(r lab.Saved) bool { return r.Judgement.Experiment != id })
}

// tests reports whether a variant of the run tests a lock, and showed what was expected.
func tests(run lab.Saved, variant, version string) bool {
	return slices.ContainsFunc(run.Judgement.Variants, func(v lab.VariantJudgement) bool {
		return v.Name == variant && v.Strategy == version && v.Verdict == lab.AsExpected
	})
}

// minority is what the side of a partition without the majority answers, and how often the lock had two holders then.
func (c Comparison) minority(f Facts) Cell {
	for _, run := range c.runs {
		if run.Judgement.Void {
			continue
		}
		granted, refused, twice, trials := answers(run, f.Version)
		if granted+refused == 0 {
			continue
		}
		c := Cell{Known: true, By: []string{run.Judgement.Experiment}}
		c.Text = fmt.Sprintf("refuses %.0f of %.0f requests", refused, refused)
		if granted > 0 {
			c.Text = fmt.Sprintf("**grants %.0f of %.0f requests**", granted, granted+refused)
		}
		if twice > 0 { // each set-up of servers is a variant with trials of its own
			c.Text += fmt.Sprintf("; two holders in %.0f of %d set-ups", twice, trials)
		}
		return c
	}
	if f.Leader == "" && f.Single {
		return Cell{Text: "one server"}
	}
	return Cell{Text: notTested}
}

// answers counts those of the minority in a run, with one lock.
func answers(run lab.Saved, version string) (granted, refused, twice float64, trials int) {
	for _, m := range run.Record.Measures() {
		shows := slices.ContainsFunc(run.Judgement.Variants, func(v lab.VariantJudgement) bool {
			return v.Name == m.Variant && v.Strategy == version && v.Verdict != lab.Inconclusive
		})
		if !shows || m.Timeline == faults.MajoritySide {
			continue
		}
		var sum float64
		for _, value := range m.Values {
			sum += float64(value)
		}
		switch m.Quantity {
		case faults.GrantedThere:
			granted += sum
		case faults.RefusedThere:
			refused += sum
		case faults.HeldTwice:
			twice, trials = twice+sum, trials+len(m.Values)
		}
	}
	return granted, refused, twice, trials
}

// violated lists the anomalies under which the lock was violated.
func (c Comparison) violated(f Facts) Cell {
	var names, by []string
	whole := 0
	for _, anomaly := range c.matrix.Anomalies {
		switch cell := c.matrix.Cell(f.Version, anomaly); cell.State {
		case matrix.Violated:
			names, by = append(names, anomaly), append(by, cell.Shown[0])
		case matrix.NoViolation:
			whole++
		}
	}
	switch {
	case len(names) > 0:
		return Cell{Text: strings.Join(names, ", "), Known: true, By: by}
	case whole > 0:
		return Cell{Text: fmt.Sprintf("none of the %d that were tested", whole), Known: true}
	}
	return Cell{Text: notTested}
}
