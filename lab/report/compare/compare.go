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

// Lock is one lock with all its cells.
type Lock struct {
	Facts

	P50, P99, Alone            Cell // uncontended; Alone is against v3
	Burst, ToV3, Bare, Library Cell
	Requests                   Cell
	Rate, OfLimit, Jain, Even  Cell // sustained; Even is Jain's index over the processes
	Dead, Gap, Minority        Cell
	Violated                   Cell
}

// Comparison is all locks, and what the cells are from.
type Comparison struct {
	Locks  []Lock
	bench  Bench
	matrix matrix.Matrix
}

// Of compares the locks by saved runs of experiments and by the file of the benchmark.
func Of(all []lab.Experiment, runs []lab.Saved, b Bench) Comparison {
	c := Comparison{bench: b, matrix: matrix.Of(all, runs)}
	for _, f := range facts {
		l := Lock{Facts: f}
		c.speed(&l)
		l.Dead = timed(runs, lab.NextGrant, f.Version)
		l.Gap = Cell{Text: "no leader"}
		if f.Leader != "" {
			l.Gap = timed(runsOf(runs, f.Leader), lab.NoGrant, f.Version)
		}
		if l.Minority = minority(runs, f.Version); !l.Minority.Known && f.Leader == "" && f.Single {
			l.Minority = Cell{Text: "one server"}
		}
		l.Violated = c.violated(f.Version)
		c.Locks = append(c.Locks, l)
	}
	return c
}

// speed fills in what the benchmark says.
func (c Comparison) speed(l *Lock) {
	b := c.bench
	l.P50 = measured("%s µs")(b.Median(alone, l.Bench, benchfile.WaitP50))
	l.P99 = measured("%s µs")(b.Median(alone, l.Bench, benchfile.WaitP99))
	l.Alone = measured("%s")(b.Ratio(alone, l.Bench, "ours", benchfile.WaitP50))
	l.Requests = measured("%s")(b.Median(alone, l.Bench, benchfile.Commands))
	l.Burst, l.ToV3 = c.burst(l.Bench), measured("%s")(b.Ratio(together, l.Bench, "ours", benchfile.Seconds))
	l.Bare, l.Library = c.burst(l.Facts.Bare), c.burst(l.Facts.Library)
	l.Rate = measured("%s")(b.Median(sustained, l.Bench, benchfile.Rate))
	l.OfLimit = measured("%s")(b.Ratio(sustained, l.Bench, "limit", benchfile.Rate))
	l.Jain = measured("%s")(b.Median(sustained, l.Bench, benchfile.Jain))
	l.Even = measured("%s")(b.Median(sustained, l.Bench, benchfile.JainProcesses))
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
func minority(runs []lab.Saved, version string) Cell {
	for _, run := range runs {
		if run.Judgement.Void {
			continue
		}
		granted, refused, twice, trials := answers(run, version)
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
func (c Comparison) violated(version string) Cell {
	var names, by []string
	whole := 0
	for _, anomaly := range c.matrix.Anomalies {
		switch cell := c.matrix.Cell(version, anomaly); cell.State {
		case matrix.Violated:
			names, by = append(names, anomaly), append(by, cell.Shown[0].Experiment)
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
