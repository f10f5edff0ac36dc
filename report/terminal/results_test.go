package terminal

import (
	"strings"
	"testing"
	"time"

	"locklab/experiments"
	"locklab/experiments/burst"
	"locklab/experiments/check"
	"locklab/history"
	"locklab/versions"
)

// A reader is told what is missing, how slow the machine is, and why a variant was left out.
func TestResultsSayWhatIsMissing(t *testing.T) {
	left := experiments.VariantJudgement{Name: "cache", LeftOut: "needs memcached"}
	r := &experiments.Results{
		Pace: 2.5, Missing: []string{"D98 needs mariadbd"},
		Runs: []experiments.Result{{Saved: experiments.Saved{Dir: "lost", Judgement: experiments.Judgement{
			Experiment: "L99-left", Variants: []experiments.VariantJudgement{left},
		}}, NotSaved: "the disk is full"}, {Saved: experiments.Saved{Dir: "kept"}}},
	}
	text := Results(r, Screen{})
	for _, says := range []string{
		"Left out: D98 needs mariadbd\n", "needed 2.5 times as long as a quiet one", "L99-left, cache: left out: it needs memcached\n",
		"Saved:   kept\n",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	if strings.Contains(text, "Saved:   lost") {
		t.Error("a run that is not saved has a folder")
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

// An empty line stands before the next table, whether a counterexample or a reason is the last that explains a run. Of several runs those
// as expected are not explained.
func TestAnEmptyLineEndsTheReasons(t *testing.T) {
	run := func(j experiments.Judgement) experiments.Result {
		return experiments.Result{Saved: experiments.Saved{Judgement: j}}
	}
	shown := experiments.VariantJudgement{Name: "DEL", Violation: &history.Violation{What: "one update is lost"}}
	counterexample := run(experiments.Judgement{
		Experiment: "L99", Verdict: experiments.AsExpected, Variants: []experiments.VariantJudgement{shown},
	})
	for name, runs := range map[string][]experiments.Result{
		"a reason":         {run(experiments.Judgement{Experiment: "L98", Why: "no server"})},
		"a counterexample": {counterexample},
	} {
		if text := evidence(runs, Screen{}); !strings.HasSuffix(text, "\n\n") || strings.HasSuffix(text, "\n\n\n") {
			t.Errorf("%s: it ends with %q", name, text[max(0, len(text)-10):])
		}
	}
	for _, runs := range [][]experiments.Result{nil, {counterexample, counterexample}} {
		if text := evidence(runs, Screen{}); text != "" {
			t.Errorf("%d runs as expected are explained by %q", len(runs), text)
		}
	}
}

// A file that is not as expected says why, and no other.
func TestACheckSaysWhy(t *testing.T) {
	times := &check.Times{P50MS: 5, MaxMS: 70}
	r := &check.Result{Files: []check.File{
		{File: "v1.json", Why: "no user was answered"},
		{File: "v3.json", Verdict: experiments.AsExpected, Pageview: &burst.Counts{}, Time: times},
	}}
	text := Checked(r, Screen{})
	if !strings.Contains(strings.Join(strings.Fields(text), " "), " 5 ms - 70 ms ") {
		t.Errorf("the times of v3 are wrong in\n%s", text)
	}
	if !strings.Contains(text, "v1.json: inconclusive: no user was answered\n") || strings.Contains(text, "v3.json:") {
		t.Errorf("the reasons are wrong in\n%s", text)
	}
}

// A check says when each run began, with the date if that is long ago.
func TestACheckSaysWhenTheRunsWere(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.Local)
	text := ran([]check.File{
		{File: "new.json", Version: "v3", Users: 666, Began: now.Add(-5 * time.Minute)},
		{File: "unknown.json"},
		{File: "old.json", Version: "v1", Users: 20, Began: now.Add(-13 * time.Hour)},
	}, now)
	want := "new.json: run of 11:55:00, v3, 666 users, 5 minutes ago\n" +
		"old.json: run of 2026-11-26 23:00:00, v1, 20 users, 13 hours ago"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
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

// One run is no measure of what is left to chance: several show how far they lie apart. Refused requests of stale holders are named. The
// article's value stands beside a burst of as many users, and each version that is as expected says what it shows.
func TestBurstsShowTheRangeOfTheRounds(t *testing.T) {
	row := func(name string, stale int) burst.Judged { return burst.Judged{Round: 1, Version: name, Stale: stale} }
	v1, _ := versions.Find("v1")
	v3, _ := versions.Find("v3")
	r := &burst.Results{
		Users: 666, Drivers: 4, Rounds: 1, Ranges: []burst.Range{{Version: "v1"}},
		Pageview: []burst.PageviewRow{{Judged: row("v1", 0), Article: "34"}, {Judged: row("v3", 1)}},
		Order:    []burst.OrderRow{{Judged: row("v1", 0)}, {Judged: row("v3", 2)}},
	}
	r.Pageview[0].Verdict = experiments.AsExpected
	for rounds, wants := range map[int][]string{
		1: {"differs from run to run", "--rounds 10", "v3: 1 page views and 2 drivers were refused", "0 ms 34 as expected", v1.Shows},
		3: {"The range of 3 rounds", "0 ms - as expected", "v1 5 40 1–2", "v3 666 666 1 ", "differs from run to run", "v3 #1: 1 page views"},
	} {
		if r.Rounds, r.Users = rounds, map[int]int{1: versions.ArticleUsers, 3: 20}[rounds]; rounds > 1 {
			r.Ranges = []burst.Range{
				{Version: "v1", LowFinal: 5, HighFinal: 40, LowWinners: 1, HighWinners: 2},
				{Version: "v3", LowFinal: 666, HighFinal: 666, LowWinners: 1, HighWinners: 1},
			}
		}
		text := strings.Join(strings.Fields(Bursts(r, Screen{})), " ")
		if strings.Contains(text, "v1: 0 page views") {
			t.Errorf("a version without a refusal names none: %s", text)
		}
		if strings.Contains(text, v3.Shows) {
			t.Errorf("a version that is not as expected shows something: %s", text)
		}
		for _, says := range wants {
			if !strings.Contains(text, says) {
				t.Errorf("%d rounds: no %q in %s", rounds, says, text)
			}
		}
	}
}
