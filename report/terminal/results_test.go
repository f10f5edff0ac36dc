package terminal

import (
	"strings"
	"testing"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/check"
	"locklab/history"
)

// A reader is told what is missing, how slow the machine is, and why a variant was left out.
func TestResultsSayWhatIsMissing(t *testing.T) {
	left := experiments.VariantJudgement{Name: "cache", LeftOut: "needs memcached"}
	r := &experiments.Results{
		Pace: 2.5, Missing: []string{"D98 needs mariadbd"},
		Runs: []experiments.Result{{Saved: experiments.Saved{Judgement: experiments.Judgement{
			Experiment: "L99-left", Variants: []experiments.VariantJudgement{left},
		}}}},
	}
	text := Results(r, Screen{})
	for _, says := range []string{
		"Left out: D98 needs mariadbd\n", "needed 2.5 times as long as a quiet one", "L99-left, cache: left out: it needs memcached\n",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	for line := range strings.Lines(text) { // "inconclusive" is for a run that has shown nothing
		if strings.Contains(line, "cache") && strings.Contains(line, "inconclusive") {
			t.Errorf("a variant that did not run has a verdict: %s", line)
		}
	}
}

// One run says what it measured: a row for each variant and timeline, with a dash where nothing was measured. Several runs say nothing.
func TestResultsSayWhatWasMeasured(t *testing.T) {
	run := experiments.Result{}
	run.Record.Variants = []experiments.VariantRecord{{Name: "control"}, {Name: "v3"}}
	for i, m := range []struct {
		variant, of string
		q           experiments.Quantity
		value       int64
	}{
		{"v3", "B", experiments.Count.Of("calls"), 7},
		{"control", "A", experiments.Count.Of("losses"), 1},
		{"control", "A", experiments.Count.Of("losses"), 3},
	} {
		e := m.q.Event(m.of, m.value)
		e.Seq, e.Variant = i+1, m.variant
		run.Record.Events = append(run.Record.Events, e)
	}
	text := strings.Join(strings.Fields(Results(&experiments.Results{Runs: []experiments.Result{run}}, Screen{})), " ")
	for _, says := range []string{"Measured: the median of the trials (lowest to highest).", "control A – 2 (1 to 3)", "v3 B 7 –"} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	if strings.Index(text, "control A") > strings.Index(text, "v3 B") {
		t.Error("the rows are not in the order of the variants")
	}
	if text := Results(&experiments.Results{Runs: []experiments.Result{run, run}}, Screen{}); strings.Contains(text, "Measured") {
		t.Error("two runs print their measurements")
	}
}

// The list has titles, and no claim: one can predict.
func TestTheListGivesNoAnswerAway(t *testing.T) {
	e := experiments.Experiment{ID: "L99-made", Claim: "The answer.", Lesson: experiments.Lesson{Title: "A title"}}
	text := List([]experiments.Experiment{e}, func(string) string { return "L" }, "app", Screen{})
	if !strings.Contains(text, "A title") || strings.Contains(text, "The answer.") {
		t.Error(text)
	}
}

// A run that is not as expected says why, and no other.
func TestResultsSayWhy(t *testing.T) {
	runs := make([]experiments.Result, 2)
	runs[0].Judgement = experiments.Judgement{Experiment: "L98-lost", Verdict: experiments.Unexpected, Why: "one update is lost"}
	runs[1].Judgement = experiments.Judgement{Experiment: "L99-kept", Verdict: experiments.AsExpected}
	text := Results(&experiments.Results{Runs: runs}, Screen{})
	if !strings.Contains(text, "L98-lost: unexpected: one update is lost\n") || strings.Contains(text, "L99-kept: as expected:") {
		t.Errorf("the reasons are wrong in\n%s", text)
	}
}

// An empty line stands before the next table, whether a counterexample or a reason is the last that explains a run.
func TestAnEmptyLineEndsTheReasons(t *testing.T) {
	run := func(j experiments.Judgement) experiments.Result {
		return experiments.Result{Saved: experiments.Saved{Judgement: j}}
	}
	shown := experiments.VariantJudgement{Name: "DEL", Violation: &history.Violation{What: "one update is lost"}}
	for name, runs := range map[string][]experiments.Result{
		"a reason":         {run(experiments.Judgement{Experiment: "L98", Why: "no server"})},
		"a counterexample": {run(experiments.Judgement{Experiment: "L99", Variants: []experiments.VariantJudgement{shown}})},
	} {
		if text := evidence(runs, Screen{}); !strings.HasSuffix(text, "\n\n") || strings.HasSuffix(text, "\n\n\n") {
			t.Errorf("%s: it ends with %q", name, text[max(0, len(text)-10):])
		}
	}
	if text := evidence(nil, Screen{}); text != "" {
		t.Errorf("nothing is explained by %q", text)
	}
}

// A file that is not as expected says why, and no other.
func TestACheckSaysWhy(t *testing.T) {
	r := &check.Result{Files: []check.File{{File: "v1.json", Why: "no user was answered"}, {File: "v3.json", Verdict: experiments.AsExpected}}}
	text := Checked(r, Screen{})
	if !strings.Contains(text, "v1.json: inconclusive: no user was answered\n") || strings.Contains(text, "v3.json:") {
		t.Errorf("the reasons are wrong in\n%s", text)
	}
}

// A curve is a table, of a single run.
func TestResultsShowACurve(t *testing.T) {
	x, y := experiments.Tenths.Of("commands"), experiments.Microseconds.Of("until the next holder")
	event := func(of experiments.Quantity, value int64) history.Event {
		e := of.Event("message", value)
		e.Variant = "v"
		return e
	}
	run := experiments.Result{Saved: experiments.Saved{
		Experiment: experiments.Experiment{ID: "L09-waiting", Curve: experiments.Curve{Variant: "v", X: x, Y: y, Line: "sleep "}},
		Record:     experiments.Record{Events: []history.Event{event(x, 48), event(y, 550)}},
	}}
	one, two := &experiments.Results{Runs: []experiments.Result{run}}, &experiments.Results{Runs: []experiments.Result{run, run}}
	if text := Results(one, Screen{}); !strings.Contains(text, "commands  ms until the next holder") || !strings.Contains(text, "4.8") {
		t.Errorf("no table in\n%s", text)
	}
	if text := Results(two, Screen{}); strings.Contains(text, "until the next holder") {
		t.Errorf("of two runs there is a table:\n%s", text)
	}
}

// One run is no measure of what is left to chance: several show how far they lie apart. Refused requests of stale holders are named.
func TestBurstsShowTheRangeOfTheRounds(t *testing.T) {
	row := func(name string, stale int) burst.Judged { return burst.Judged{Round: 1, Version: name, Stale: stale} }
	r := &burst.Results{
		Users: 666, Drivers: 4, Rounds: 1, Ranges: []burst.Range{{Version: "v1"}},
		Pageview: []burst.PageviewRow{{Judged: row("v1", 0)}, {Judged: row("v3", 1)}},
		Order:    []burst.OrderRow{{Judged: row("v1", 0)}, {Judged: row("v3", 2)}},
	}
	for rounds, wants := range map[int][]string{
		1: {"differs from run to run", "--rounds 10", "v3: 1 page views and 2 drivers were refused"},
		3: {"The range of 3 rounds", "v1 5 40 1–2", "v3 666 666 1 ", "differs from run to run", "v3 #1: 1 page views"},
	} {
		if r.Rounds = rounds; rounds > 1 {
			r.Ranges = []burst.Range{
				{Version: "v1", LowFinal: 5, HighFinal: 40, LowWinners: 1, HighWinners: 2},
				{Version: "v3", LowFinal: 666, HighFinal: 666, LowWinners: 1, HighWinners: 1},
			}
		}
		text := strings.Join(strings.Fields(Bursts(r, Screen{})), " ")
		if strings.Contains(text, "v1: 0 page views") {
			t.Errorf("a version without a refusal names none: %s", text)
		}
		for _, says := range wants {
			if !strings.Contains(text, says) {
				t.Errorf("%d rounds: no %q in %s", rounds, says, text)
			}
		}
	}
}
