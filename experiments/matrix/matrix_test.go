package matrix

import (
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/history"
)

// run is a saved run of one arm beside its control.
func run(id, anomaly, strategy string, expect experiments.Expect, trials, breaches int) (experiments.Experiment, experiments.Saved) {
	e := experiments.Experiment{ID: id, Anomaly: anomaly, Variants: []experiments.Variant{{Name: "control"}, {Name: "arm", Strategy: strategy, Expect: expect}}}
	a := experiments.VariantJudgement{Name: "arm", Expect: expect, Strategy: strategy, Trials: trials, Violations: breaches}
	a.Verdict = experiments.Judge(expect, experiments.Outcome{Trials: trials, Violations: breaches})
	if breaches > 0 {
		a.Violation = &history.Violation{What: "A and B | both"}
	} else if a.Verdict == experiments.Inconclusive {
		a.Why = "no witness"
	}
	s := experiments.Saved{Dir: "store/" + id, Experiment: e}
	s.Record.Command = "app lab run " + id
	s.Judgement = experiments.Judgement{Experiment: id, Verdict: a.Verdict, Variants: []experiments.VariantJudgement{{Name: "control", Trials: trials, Verdict: experiments.AsExpected}, a}}
	return e, s
}

func TestCells(t *testing.T) {
	type ran struct {
		expect           experiments.Expect
		trials, breaches int
		void             bool
	}
	held, broken, nothing := ran{trials: 3}, ran{experiments.Sometimes, 3, 2, false}, ran{experiments.Sometimes, 3, 0, false}
	refuted, interrupted := ran{experiments.Never, 3, 1, false}, ran{experiments.Sometimes, 3, 3, true}
	for _, c := range []struct {
		name  string
		runs  []ran
		state State
		text  string
	}{
		{"no run", nil, NotTested, "not tested"},
		{"held", []ran{held}, Held, "held in 3 trials"},
		{"held twice", []ran{held, held}, Held, "held in 6 trials"},
		{"broken", []ran{broken}, Broken, "broken (A and B | both)"},
		{"broken where it must hold", []ran{refuted}, Broken, "broken (A and B | both)"},
		{"no witness", []ran{nothing}, Undecided, "not tested (the run showed nothing: no witness)"},
		{"no trial", []ran{{}}, Undecided, "not tested (the run showed nothing: no witness)"},
		{"a witness of a run that is void", []ran{interrupted}, Undecided, "not tested (the run showed nothing: it was interrupted)"},
		{"broken wins over held", []ran{held, broken, held}, Broken, "broken (A and B | both)"},
		{"broken wins over nothing", []ran{nothing, broken}, Broken, "broken (A and B | both)"},
		{"held is not enough", []ran{held, nothing}, Undecided, "not tested (the run showed nothing: no witness)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var all []experiments.Experiment
			var saved []experiments.Saved
			for i, r := range c.runs {
				e, s := run("X0"+string(rune('1'+i)), "orphaned lock", "v3", r.expect, r.trials, r.breaches)
				if r.void {
					s.Judgement.Void, s.Judgement.Why = true, "it was interrupted"
				}
				all, saved = append(all, e), append(saved, s)
			}
			got := Of(all, saved).Cell("v3", "orphaned lock")
			if got.State != c.state || got.String() != c.text {
				t.Errorf("%d %q, want %d %q", got.State, got, c.state, c.text)
			}
			if len(c.runs) > 0 && (len(got.Shown) == 0 || got.By() == "") {
				t.Error("nothing says which run shows it")
			}
		})
	}
}

// An arm may have a column of its own, and a strategy or an anomaly that nobody knew comes behind the others.
func TestRowsAndColumns(t *testing.T) {
	e, s := run("X01", "pause", "v9", experiments.Never, 3, 0)
	e.Variants[1].Anomaly = "solar flare"
	m := Of([]experiments.Experiment{e}, []experiments.Saved{s})
	if m.Strategies[len(m.Strategies)-1] != "v9" || m.Anomalies[len(m.Anomalies)-1] != "solar flare" {
		t.Errorf("%q, %q", m.Strategies, m.Anomalies)
	}
	if c := m.Cell("v9", "solar flare"); c.State != Held {
		t.Errorf("%+v", c)
	}
	if c := m.Cell("v9", "pause"); c.State != NotTested {
		t.Errorf("%+v", c)
	}
	if len(Of(nil, nil).Strategies) != 7 || len(Of(nil, nil).Anomalies) != 11 {
		t.Error("the rows and columns that there always are have changed")
	}
}

// What cannot be says why, unless somebody tested it all the same.
func TestNotApplicable(t *testing.T) {
	for where, why := range reasons {
		c := Of(nil, nil).Cell(where.strategy, where.anomaly)
		if c.State != NotApplicable || c.Why != why || why == "" {
			t.Errorf("%v: %+v", where, c)
		}
		e, s := run("X01", where.anomaly, where.strategy, experiments.Never, 3, 0)
		if c := Of([]experiments.Experiment{e}, []experiments.Saved{s}).Cell(where.strategy, where.anomaly); c.State != Held {
			t.Errorf("%v was tested: %+v", where, c)
		}
	}
}

func TestMarkdown(t *testing.T) {
	e, s := run("X01-x", "orphaned lock", "v3", experiments.Sometimes, 3, 3)
	m := Of([]experiments.Experiment{e}, []experiments.Saved{s})
	table, details := m.Markdown("docs/"), m.Details("")
	for _, line := range strings.Split(strings.TrimSpace(table), "\n") {
		if strings.Count(line, "|") != 13 {
			t.Errorf("not 12 cells: %s", line)
		}
	}
	if !strings.Contains(table, "[**broken**](docs/experiments/X01-x.md)") {
		t.Error(table)
	}
	for _, says := range []string{
		`| v3 | broken (A and B \| both) | [X01-x](experiments/X01-x.md), arm | ` + "`app lab run X01-x` |",
		"| v2 | not applicable: the lock is in the process, and dies with it |  |  |",
	} {
		if !strings.Contains(details, says) {
			t.Errorf("no %q in\n%s", says, details)
		}
	}
}
