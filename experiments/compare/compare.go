package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/experiments"
	"locklab/experiments/kit"
	"locklab/experiments/matrix"
)

const (
	notMeasured = "not measured"
	notTested   = "not tested"
)

// Cell is a figure or a few words, and what it rests on.
type Cell struct {
	Text  string
	Value float64  // in ms, where it is a time of an experiment
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
func Of(all []experiments.Experiment, runs []experiments.Saved, b Bench) Comparison {
	c := Comparison{bench: b, matrix: matrix.Of(all, runs)}
	for _, f := range facts {
		l := Lock{Facts: f}
		c.speed(&l)
		l.Dead = timed(runs, "L23", f.Version, func(string) bool { return true })
		l.Gap = Cell{Text: "no leader"}
		if f.Leader != "" {
			l.Gap = timed(runs, f.Leader, f.Version, func(unit string) bool {
				return strings.Contains(unit, "nobody") && strings.Contains(unit, "granted")
			})
		}
		if l.Minority = minority(runs, f.Version); !l.Minority.Known && f.Leader == "" && strings.HasPrefix(f.Servers, "1") {
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
	l.P50 = measured("%s µs")(b.median(alone, l.Bench, waitP50))
	l.P99 = measured("%s µs")(b.median(alone, l.Bench, waitP99))
	l.Alone = measured("%s")(b.ratio(alone, l.Bench, "ours", waitP50))
	l.Requests = measured("%s")(b.median(alone, l.Bench, commands))
	l.Burst, l.ToV3 = c.burst(l.Bench), measured("%s")(b.ratio(together, l.Bench, "ours", seconds))
	l.Bare, l.Library = c.burst(l.Facts.Bare), c.burst(l.Facts.Library)
	l.Rate = measured("%s")(b.median(sustained, l.Bench, rate))
	l.OfLimit = measured("%s")(b.ratio(sustained, l.Bench, "limit", rate))
	l.Jain = measured("%s")(b.median(sustained, l.Bench, jain))
	l.Even = measured("%s")(b.median(sustained, l.Bench, jainProcesses))
}

// burst is how long a row took for a burst. Where no run served all waiters, it says how many were served.
func (c Comparison) burst(row string) Cell {
	if row == "" {
		return Cell{Text: "–"}
	}
	if s, ok := c.bench.median(together, row, seconds); ok {
		return Cell{Text: digits(s*1e3) + " ms", Value: s * 1e3, Known: true}
	}
	if r, any := c.bench.failed(together, row); any {
		return Cell{Text: fmt.Sprintf("**%d of %d served** in %s s", r.Done, r.Want, digits(r.Seconds))}
	}
	return Cell{Text: notMeasured}
}

func measured(format string) func(float64, bool) Cell {
	return func(x float64, ok bool) Cell {
		if !ok {
			return Cell{Text: notMeasured}
		}
		return Cell{Text: fmt.Sprintf(format, digits(x)), Value: x, Known: true}
	}
}

// timed is the median of a time that an experiment has measured with a lock.
func timed(runs []experiments.Saved, prefix, version string, wanted func(unit string) bool) Cell {
	for _, run := range runs {
		if !strings.HasPrefix(run.Judgement.Experiment, prefix+"-") || run.Judgement.Void {
			continue
		}
		for _, m := range run.Record.Measures() {
			value, ok := milliseconds(m)
			if ok && wanted(m.Unit) && tests(run, m.Variant, version) {
				return Cell{Text: digits(value) + " ms", Value: value, Known: true, By: []string{run.Judgement.Experiment}}
			}
		}
	}
	return Cell{Text: notTested}
}

// milliseconds is the median, if the unit is one of time.
func milliseconds(m experiments.Measured) (float64, bool) {
	for prefix, factor := range map[string]float64{"µs": 1e-3, "ms": 1, "s": 1e3} {
		if strings.HasPrefix(m.Unit, prefix+" ") || strings.HasPrefix(m.Unit, prefix+",") {
			return float64(m.Median()) * factor, true
		}
	}
	return 0, false
}

// tests reports whether a variant of the run tests a lock, and showed what was expected.
func tests(run experiments.Saved, variant, version string) bool {
	return slices.ContainsFunc(run.Judgement.Variants, func(v experiments.VariantJudgement) bool {
		return v.Name == variant && v.Strategy == version && v.Verdict == experiments.AsExpected
	})
}

// minority is what the side of a partition without the majority answers, and how often the lock had two holders then.
func minority(runs []experiments.Saved, version string) Cell {
	i := slices.IndexFunc(runs, func(r experiments.Saved) bool {
		return strings.HasPrefix(r.Judgement.Experiment, "F12-") && !r.Judgement.Void
	})
	if i < 0 {
		return Cell{Text: notTested}
	}
	granted, refused, twice, trials := answers(runs[i], version)
	c := Cell{Value: granted, Known: granted+refused > 0, By: []string{runs[i].Judgement.Experiment}}
	switch {
	case !c.Known:
		return Cell{Text: notTested}
	case granted == 0:
		c.Text = fmt.Sprintf("refuses %.0f of %.0f requests", refused, refused)
	default:
		c.Text = fmt.Sprintf("**grants %.0f of %.0f requests**", granted, granted+refused)
	}
	if twice > 0 {
		c.Text += fmt.Sprintf("; two holders in %.0f of %d trials", twice, trials)
	}
	return c
}

// answers counts those of the minority in a run, with one lock.
func answers(run experiments.Saved, version string) (granted, refused, twice float64, trials int) {
	for _, m := range run.Record.Measures() {
		shows := slices.ContainsFunc(run.Judgement.Variants, func(v experiments.VariantJudgement) bool {
			return v.Name == m.Variant && v.Strategy == version && v.Verdict != experiments.Inconclusive
		})
		if !shows || m.Timeline == kit.MajoritySide {
			continue
		}
		var sum float64
		for _, value := range m.Values {
			sum += float64(value)
		}
		switch m.Unit {
		case kit.GrantedThere:
			granted += sum
		case kit.RefusedThere:
			refused += sum
		case kit.HeldTwice:
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

// digits has three significant digits.
func digits(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}
