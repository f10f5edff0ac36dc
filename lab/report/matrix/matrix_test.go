package matrix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/history"
	"locklab/lab/report/terminal"
	"locklab/versions"
)

// run is a saved run of one variant beside its control.
func run(id, anomaly, strategy string, expect lab.Expect, trials, violations int) (lab.Experiment, lab.Saved) {
	e := lab.Experiment{
		ID:       id,
		Anomaly:  anomaly,
		Variants: []lab.Variant{{Name: "control"}, {Name: "variant", Strategy: strategy, Expect: expect}},
	}
	a := lab.VariantJudgement{Name: "variant", Expect: expect, Strategy: strategy, Trials: trials, Violations: violations}
	a.Verdict = lab.Judge(expect, lab.Outcome{Trials: trials, Violations: violations})
	if violations > 0 {
		a.Violation = &history.Violation{What: "A and B | both"}
	} else if a.Verdict == lab.Inconclusive {
		a.Why = "no counterexample"
	}
	s := lab.Saved{Dir: "store/" + id, Experiment: e}
	s.Record.Command = "app lab run " + id
	s.Judgement = lab.Judgement{
		Experiment: id,
		Verdict:    a.Verdict,
		Variants:   []lab.VariantJudgement{{Name: "control", Trials: trials, Verdict: lab.AsExpected}, a},
	}
	return e, s
}

func TestCells(t *testing.T) {
	type ran struct {
		expect             lab.Expect
		trials, violations int
		void               bool
	}
	fine, violated, nothing := ran{trials: 3}, ran{lab.Sometimes, 3, 2, false}, ran{lab.Sometimes, 3, 0, false}
	unexpected, interrupted := ran{lab.Never, 3, 1, false}, ran{lab.Sometimes, 3, 3, true}
	for _, c := range []struct {
		name  string
		runs  []ran
		state State
		text  string
	}{
		{"no run", nil, NotTested, "not tested"},
		{"no violation", []ran{fine}, NoViolation, "no violation in 3 trials"},
		{"no violation in one", []ran{{trials: 1}}, NoViolation, "no violation in 1 trial"},
		{"no violation, twice", []ran{fine, fine}, NoViolation, "no violation in 6 trials"},
		{"violated", []ran{violated}, Violated, "violated (A and B | both)"},
		{"violated where it must not be", []ran{unexpected}, Violated, "violated (A and B | both)"},
		{"no counterexample", []ran{nothing}, Undecided, "not tested (the run showed nothing: no counterexample)"},
		{"no trial", []ran{{}}, Undecided, "not tested (the run showed nothing: no counterexample)"},
		{"a counterexample of a run that is void", []ran{interrupted}, Undecided, "not tested (the run showed nothing: it was interrupted)"},
		{"a violation wins over none", []ran{fine, violated, fine}, Violated, "violated (A and B | both)"},
		{"a violation wins over nothing", []ran{nothing, violated}, Violated, "violated (A and B | both)"},
		{"no violation is not enough", []ran{fine, nothing}, Undecided, "not tested (the run showed nothing: no counterexample)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []lab.Experiment
			var saved []lab.Saved
			for i, r := range c.runs {
				e, s := run("X0"+string(rune('1'+i)), "orphaned lock", "v3", r.expect, r.trials, r.violations)
				if r.void {
					s.Judgement.Void, s.Judgement.Why = true, "it was interrupted"
				}
				all, saved = append(all, e), append(saved, s)
			}
			got := Of(all, saved).Cell("v3", "orphaned lock")
			if got.State != c.state || got.String() != c.text {
				t.Errorf("%d %q, want %d %q", got.State, got, c.state, c.text)
			}
			if len(c.runs) > 0 && len(got.Shown) == 0 {
				t.Error("nothing says which run shows it")
			}
		})
	}
}

// A variant may have a column of its own, and a strategy or an anomaly that nobody knew comes behind the others.
func TestRowsAndColumns(t *testing.T) {
	e, s := run("X01", "pause", "v99", lab.Never, 3, 0)
	e.Variants[1].Anomaly = "solar flare"
	m := Of([]lab.Experiment{e}, []lab.Saved{s})
	if m.Strategies[len(m.Strategies)-1] != "v99" || m.Anomalies[len(m.Anomalies)-1] != "solar flare" {
		t.Errorf("%q, %q", m.Strategies, m.Anomalies)
	}
	if c := m.Cell("v99", "solar flare"); c.State != NoViolation {
		t.Errorf("%+v", c)
	}
	if c := m.Cell("v99", "pause"); c.State != NotTested {
		t.Errorf("%+v", c)
	}
	for _, version := range versions.Names()[2:] { // v0 and v1 have no lock
		if !slices.Contains(Of(nil, nil).Strategies, version) {
			t.Errorf("%s has no row", version)
		}
	}
}

// Each cell of a version has an experiment, or a reason why the anomaly cannot happen: a new version is not a row of dashes.
func TestEveryVersionMeetsEveryAnomaly(t *testing.T) {
	tested := map[at]bool{{"v5", "lost at failover"}: true} // not tested: the lab has no database with a failover
	for _, e := range claims.All() {
		for _, v := range e.Variants {
			tested[at{v.Strategy, cmp.Or(v.Anomaly, e.Anomaly)}] = true
		}
	}
	for _, version := range versions.Names()[2:] { // v0 and v1 have no lock
		for _, anomaly := range anomalies {
			if where := (at{version, anomaly}); !tested[where] && where.reason() == "" {
				t.Errorf("%s, %s: no variant of an experiment is in this cell, and reasons has no entry for it", version, anomaly)
			}
		}
	}
}

// An impossible cell says why, unless somebody tested it all the same.
func TestNotApplicable(t *testing.T) {
	for anomaly, why := range map[string]string{"lost at failover": "", cut: "", "pause": waitIsV3} {
		if c := Of(nil, nil).Cell("v3 with WAIT", anomaly); c.Why != why {
			t.Errorf("WAIT is for a failover: %s: %+v", anomaly, c)
		}
	}
	for where, why := range reasons {
		if !slices.Contains(strategies, where.strategy) || !slices.Contains(anomalies, where.anomaly) {
			t.Errorf("%v is no cell of the matrix", where)
		}
		c := Of(nil, nil).Cell(where.strategy, where.anomaly)
		if c.State != NotApplicable || c.Why != why || why == "" {
			t.Errorf("%v: %+v", where, c)
		}
		e, s := run("X01", where.anomaly, where.strategy, lab.Never, 3, 0)
		if c := Of([]lab.Experiment{e}, []lab.Saved{s}).Cell(where.strategy, where.anomaly); c.State != NoViolation {
			t.Errorf("%v was tested: %+v", where, c)
		}
	}
}

// A variant that names a row names a column, too: pages say which row of the matrix it is in.
func TestEveryNamedRowHasAColumn(t *testing.T) {
	for _, e := range claims.All() {
		for _, v := range e.Variants {
			column := cmp.Or(v.Anomaly, e.Anomaly)
			if v.Strategy != "" && (!slices.Contains(strategies, v.Strategy) || !slices.Contains(anomalies, column)) {
				t.Errorf("%s, %s: it is in row %q, column %q", e.ID, v.Name, v.Strategy, column)
			}
		}
	}
}

// A terminal has a row for each anomaly with a sign for each lock, in 116 columns, and names the experiments that fill the gaps.
func TestText(t *testing.T) {
	e, s := run("X01-x", "orphaned lock", "v3", lab.Sometimes, 3, 3)
	kept, fine := run("X02-y", "orphaned lock", "v5", lab.Never, 3, 0)
	missing, _ := run("X03-z", "pause", "v5", lab.Never, 3, 0)
	also, _ := run("X04-z", "orphaned lock", "v5", lab.Never, 3, 0)
	m := Of([]lab.Experiment{e, kept, missing, also}, []lab.Saved{s, fine})
	text := m.Text("app", terminal.Screen{})
	shown := map[string]string{"v2": "n/a", "v3": "✗", "v5": "0/3"}
	var row []string // in the order of the strategies
	for _, strategy := range m.Strategies {
		row = append(row, cmp.Or(shown[strategy], "-"))
		if why := m.Cell(strategy, e.Anomaly).Why; shown[strategy] == "" && why != "" {
			row[len(row)-1] = "n/a"
		}
	}
	words := strings.Join(strings.Fields(text), " ")
	for _, says := range []string{"-: not run yet", " orphaned lock " + strings.Join(row, " "), "Not run yet: app lab run X03"} {
		if !strings.Contains(words, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	if strings.Contains(words, "X04") {
		t.Errorf("a run fills the cell already:\n%s", text)
	}
	for line := range strings.Lines(text) {
		if n := len([]rune(line)) - 1; n > textWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// A page has a row for each lock and a column for each anomaly: what was violated, or in how many trials nothing was, with a link to the
// run.
func TestMarkdown(t *testing.T) {
	e, s := run("X01-x", "orphaned lock", "v3", lab.Sometimes, 3, 3)
	kept, fine := run("X02-y", "orphaned lock", "v5", lab.Never, 3, 0)
	m := Of([]lab.Experiment{e, kept}, []lab.Saved{s, fine})
	table := m.Markdown("docs/")
	untested := 0
	for _, strategy := range m.Strategies {
		for _, anomaly := range m.Anomalies {
			if m.Cell(strategy, anomaly).State == NotTested {
				untested++
			}
		}
	}
	says := fmt.Sprintf("\n\nNot tested: %d of %d cells.\n", untested, len(m.Strategies)*len(m.Anomalies))
	if whole := m.Whole(); untested == 0 || !strings.HasSuffix(whole, says) {
		t.Errorf("the matrix ends with %q, want %q", whole[max(0, len(whole)-60):], says)
	}
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if strings.Count(line, "|") != len(anomalies)+2 {
			t.Errorf("not a cell for each anomaly: %s", line)
		}
	}
	if !strings.Contains(table, "[**violated**](docs/experiments/X01-x.md)") ||
		!strings.Contains(table, "[0 of 3](docs/experiments/X02-y.md)") {
		t.Error(table)
	}
	narrow := m.Narrow("docs/", "v2", "v3")
	if row := "| orphaned lock | n/a | [**violated**](docs/experiments/X01-x.md) |\n"; !strings.Contains(narrow, row) ||
		strings.Count(narrow, "\n") != 2+len(m.Anomalies) {
		t.Errorf("no %q in\n%s", row, narrow)
	}
	reason := "| v2 process mutex | lost at failover, network cut in two, restart with data loss, clock jump, eviction, " +
		"acquire with lost reply | " + noServer + " |\n"
	if reasons := m.Reasons(); !strings.Contains(reasons, reason) {
		t.Errorf("no %q in\n%s", reason, reasons)
	}
}
