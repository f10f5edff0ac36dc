package terminal

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"locklab/lab"
	"locklab/lab/burst"
	"locklab/lab/burst/check"
	"locklab/lab/history"
	"locklab/versions"
)

// A reader is told what is missing, how slow the machine is, and why a variant was left out.
func TestResultsSayWhatIsMissing(t *testing.T) {
	left := []lab.VariantJudgement{{Name: "control"}, {Name: "cache", LeftOut: "needs memcached"}, {Name: "two", LeftOut: "needs memcached"}}
	r := &lab.Results{
		Pace: 2.5, LeftOut: []string{"D98 needs mariadbd"},
		Runs: []lab.Result{{Saved: lab.Saved{Dir: "lost", Judgement: lab.Judgement{
			Experiment: "L99-left", Variants: left,
		}}, NotSaved: "the disk is full"}, {Saved: lab.Saved{Dir: "kept"}}},
	}
	text := Results(r, Screen{})
	for _, says := range []string{
		"Left out: D98 needs mariadbd\n", "2.5 times slower than a quiet one",
		"Left out: 2 of 3 variants of L99-left: each needs memcached\nVerdict: inconclusive, 1 of 3 variants ran (", "Saved:   kept\n",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	if n := strings.Count(text, "needs memcached"); n != 1 {
		t.Errorf("a reason that two variants share is said %d times", n)
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
	run := lab.Result{}
	run.Record.Variants = []lab.VariantRecord{{Name: "control"}, {Name: "v3"}}
	for i, m := range []struct {
		variant, of string
		q           lab.Quantity
		value       int64
	}{
		{"v3", "B", lab.Count.Of("calls"), 7},
		{"control", "A", lab.Count.Of("losses"), 1},
		{"control", "A", lab.Count.Of("losses"), 3},
	} {
		e := m.q.Event(m.of, m.value)
		e.Seq, e.Variant = i+1, m.variant
		run.Record.Events = append(run.Record.Events, e)
	}
	text := strings.Join(strings.Fields(Results(&lab.Results{Runs: []lab.Result{run}}, Screen{})), " ")
	for _, says := range []string{"Measured: the median of the trials (lowest to highest).", "control A – 2 (1 to 3)", "v3 B 7 –"} {
		if !strings.Contains(text, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	if strings.Index(text, "control A") > strings.Index(text, "v3 B") {
		t.Error("the rows are not in the order of the variants")
	}
	if text := Results(&lab.Results{Runs: []lab.Result{run, run}}, Screen{}); strings.Contains(text, "Measured") {
		t.Error("two runs print their measurements")
	}
}

// Of many runs each has one row, one folder has them all, and the variants are listed of those alone that are not as predicted.
func TestManyRunsAreSummedUp(t *testing.T) {
	r := &lab.Results{Verdict: lab.Unexpected}
	for i := range 20 {
		variants := []lab.VariantJudgement{
			{Name: "control", Control: true, Trials: 1, Verdict: lab.AsExpected},
			{Name: "broken", Expect: lab.Sometimes, Trials: 1, Violations: 1, Verdict: lab.AsExpected},
		}
		id := fmt.Sprintf("L%d", 80+i)
		run := lab.Result{Saved: lab.Saved{Dir: "store/" + id + "/now", Judgement: lab.Judgement{
			Experiment: id, Variants: variants, Verdict: lab.AsExpected,
		}}}
		if i == 0 {
			run.Judgement.Verdict = lab.Unexpected
			run.Judgement.Variants[0] = lab.VariantJudgement{Name: "control of L80", Trials: 1, Violations: 1, Verdict: lab.Unexpected}
		}
		r.Runs = append(r.Runs, run)
	}
	text := Results(r, Screen{})
	for says, times := range map[string]int{
		"control of L80": 1, "control (control)": 0, "broken": 1, "L99": 1, "Saved: ": 1, "Saved:   store,": 1,
		"20 experiments: 20 variants with a violation and 19 without, as predicted; 1 not as predicted": 1,
	} {
		if n := strings.Count(text, says); n != times {
			t.Errorf("%q is there %d times, want %d\n%s", says, n, times, text)
		}
	}
}

// The list has titles, and no claim: one can predict.
func TestTheListGivesNoAnswerAway(t *testing.T) {
	e := lab.Experiment{ID: "L99-made", Claim: "The answer.", Lesson: lab.Lesson{Title: "A title"}}
	text := List([]lab.Experiment{e}, func(string) string { return "L" }, "app", Screen{})
	if !strings.Contains(text, "A title") || strings.Contains(text, "The answer.") {
		t.Error(text)
	}
}

// A run that is not as predicted says why, and no other. Beside several others each has its claim.
func TestResultsSayWhy(t *testing.T) {
	runs := make([]lab.Result, 2)
	runs[0].Judgement = lab.Judgement{Experiment: "L98-lost", Verdict: lab.Unexpected, Why: "one update is lost"}
	runs[1].Judgement = lab.Judgement{Experiment: "L99-kept", Verdict: lab.AsExpected}
	runs[1].Record.Claim = strings.Repeat("a long claim ", 9)
	text := Results(&lab.Results{Runs: runs}, Screen{})
	if n := strings.Count(text, "long"); n != 9 || strings.Contains(text, "\uFFFD") {
		t.Errorf("%d of 9 parts of the claim are there:\n%s", n, text)
	}
	if !strings.Contains(text, "L98-lost: unexpected: one update is lost\n") || strings.Contains(text, "L99-kept: as predicted:") {
		t.Errorf("the reasons are wrong in\n%s", text)
	}
}

// A file that is not as predicted says why, and no other.
func TestACheckSaysWhy(t *testing.T) {
	times := &check.Times{P50MS: 5, MaxMS: 70}
	r := &check.Result{Files: []check.File{
		{File: "v1.json", Why: "no user was answered"},
		{File: "v3.json", Verdict: lab.AsExpected, Pageview: &burst.Counts{}, Time: times},
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

// One run is no measure of what is left to chance: several show how far they lie apart. Refused requests of stale holders are named. Each
// version that is as predicted says what it shows.
func TestBurstsShowTheRangeOfTheRounds(t *testing.T) {
	row := func(name string, stale int) burst.Judged { return burst.Judged{Round: 1, Version: name, Stale: stale} }
	v1, _ := versions.Find("v1")
	v3, _ := versions.Find("v3")
	r := &burst.Results{
		Users: 666, Drivers: 4, Rounds: 1, Ranges: []burst.Range{{Version: "v1"}},
		Pageview: []burst.PageviewRow{{Judged: row("v1", 0)}, {Judged: row("v3", 1)}},
		Order:    []burst.OrderRow{{Judged: row("v1", 0)}, {Judged: row("v3", 2)}},
	}
	r.Pageview[0].Verdict, r.Pageview[0].Lost = lab.AsExpected, 632
	for rounds, wants := range map[int][]string{
		1: {
			"differs from run to run", "--rounds 10", "v3: 1 page views and 2 drivers were refused", v1.Explanation,
		},
		3: {
			"The range of 3 rounds", "v1 5 40 1–2", "v3 666 666 1 ", "v3 #1: 1 page views",
		},
	} {
		if r.Rounds, r.Users = rounds, map[int]int{1: versions.ArticleUsers, 3: 20}[rounds]; rounds > 1 {
			r.Ranges = []burst.Range{
				{Version: "v1", LowFinal: 5, HighFinal: 40, LowWinners: 1, HighWinners: 2},
				{Version: "v3", LowFinal: 666, HighFinal: 666, LowWinners: 1, HighWinners: 1},
			}
		}
		r.Tool = "app"
		text := strings.Join(strings.Fields(Bursts(r, Screen{})), " ")
		if strings.Contains(text, "v1: 0 page views") {
			t.Errorf("a version without a refusal names none: %s", text)
		}
		if strings.Contains(text, v3.Explanation) {
			t.Errorf("a version that is not as predicted shows something: %s", text)
		}
		for _, says := range wants {
			if !strings.Contains(text, says) {
				t.Errorf("%d rounds: no %q in %s", rounds, says, text)
			}
		}
	}
}

// What was lost is never in the good colour, although it was predicted, and what was kept is. Both say in words that they were predicted,
// so that a file needs no colour. What nobody predicted looks different from both, and so does what shows nothing.
func TestAPredictedLossIsNeverGreen(t *testing.T) {
	row := func(version string, v lab.Verdict) burst.Judged {
		return burst.Judged{Version: version, Verdict: v, PerInstance: map[string]int{"a": 333, "b": 333}}
	}
	r := &burst.Results{Users: 666, Drivers: 20, Rounds: 1, Verdict: lab.Unexpected}
	for _, of := range []struct {
		burst.Judged
		lost, winners int
	}{
		{row("v1", lab.AsExpected), 648, 20},
		{row("v3", lab.AsExpected), 0, 1},
		{row("v4", lab.Unexpected), 3, 2},
		{row("v2", lab.Inconclusive), 0, 1},
	} {
		r.Pageview = append(r.Pageview, burst.PageviewRow{Judged: of.Judged, Counts: burst.Counts{Final: int64(666 - of.lost), Lost: of.lost}})
		r.Order = append(r.Order, burst.OrderRow{Judged: of.Judged, Winners: of.winners})
	}
	variant := func(name string, v lab.Verdict, violations int) lab.VariantJudgement {
		return lab.VariantJudgement{Name: name, Verdict: v, Trials: 3, Violations: violations}
	}
	runs := &lab.Results{Runs: []lab.Result{{Saved: lab.Saved{Judgement: lab.Judgement{
		Experiment: "L99", Variants: []lab.VariantJudgement{
			variant("kept", lab.AsExpected, 0), variant("lost", lab.AsExpected, 3),
			variant("broken", lab.Unexpected, 1), variant("idle", lab.Inconclusive, 0),
		},
	}}}}}
	files := &check.Result{Files: []check.File{
		{Version: "v1", Verdict: lab.AsExpected, Pageview: &burst.Counts{Lost: 648}},
		{Version: "v1", Verdict: lab.AsExpected, Order: &check.Order{Winners: 20}},
	}}
	for words, colour := range map[string]Colour{
		"648 views lost": Red, "20 winners, 19 too many": Red, "violation in 3 of 3 trials": Red,
		"no violation in 3 trials, as predicted ✓": Green, "violation in 1 of 3 trials, unexpected ✗": Alarm,
		"no violation in 3 trials, inconclusive": Yellow,
	} {
		printed := func(s Screen) string { return Results(runs, s) + Checked(files, s) }
		painted, plain := printed(Screen{Colour: true}), printed(Screen{})
		if all := strings.Count(painted, words); all == 0 || all != strings.Count(painted, string(Paint(words, colour, true))) {
			t.Errorf("%q is not always in the colour %q in\n%s", words, colour, painted)
		}
		if !strings.Contains(plain, words) || strings.Contains(plain, "\x1b") {
			t.Errorf("without colours it does not say %q:\n%s", words, plain)
		}
	}
	painted := Bursts(r, Screen{Colour: true})
	red := func(words any) string { return string(Paint(fmt.Sprint(words), Red, true)) }
	for _, cell := range []string{
		red(648), red(20), string(Paint("as predicted ✓", Green, true)), string(Paint("3", Alarm, true)),
		string(Paint("unexpected ✗", Alarm, true)), string(Paint("inconclusive", Yellow, true)),
	} {
		if !strings.Contains(painted, cell) {
			t.Errorf("there is no %q in\n%s", cell, painted)
		}
	}
	if strings.Contains(painted, red("as predicted ✓")) {
		t.Error("a prediction that came true is red")
	}
	if strings.Contains(Bursts(r, Screen{}), "\x1b") {
		t.Error("a screen without colours has some")
	}
}

// The tables of a demo fit 80 columns, also in a file: each row of two instances is a line. What the columns do not show stands beside the
// verdict, and then a cell has two lines.
func TestTheTablesOfADemoFitATerminal(t *testing.T) {
	r := &burst.Results{Users: 666, Drivers: 20, Rounds: 1, Tool: "JMeter", Topology: "master-slave", URL: "http://nginx:8000"}
	add := func(version string, lost, twice, winners int, parts map[string]int) {
		v, _ := versions.Find(version)
		row := burst.Judged{Version: version, Lock: v.Title, Verdict: lab.AsExpected, TookMS: 1274, PerInstance: parts}
		r.Pageview = append(r.Pageview, burst.PageviewRow{
			Judged: row, Counts: burst.Counts{Final: int64(666 - lost), Lost: lost, Inside: twice, Across: twice},
		})
		r.Order = append(r.Order, burst.OrderRow{Judged: row, Winners: winners})
	}
	halves := map[string]int{"8080": 333, "8090": 333}
	v1, _ := versions.Find("v1")
	add(v1.Name, 648, 275, 20, halves)
	add("v2", 0, 275, 2, halves)
	add("v3", 0, 0, 1, map[string]int{"8080": 444, "8090": 222})
	for _, screen := range []Screen{{}, {Columns: 80}} {
		text := Bursts(r, screen)
		tables, _, _ := strings.Cut(text, "\n"+v1.Explanation[:20])
		for line := range strings.Lines(tables) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("this line has %d columns: %s", n, line)
			}
		}
		for _, want := range []string{
			"666 simultaneous page views by JMeter,\ntwo instances (8080, 8090) behind http://nginx:8000, Redis master-slave\n",
			" v1       none              18   648  333 + 333  1274  as predicted ✓\n",
			" v2       process mutex    666     0  333 + 333  1274  550 written twice, as\n",
			" v3       Redis lock       666     0  444 + 222  1274  as predicted ✓\n",
			" v1       none                20  333 + 333  1274  as predicted ✓\n",
			" v3       Redis lock           1  444 + 222  1274  as predicted ✓\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no line %q in\n%s", want, text)
			}
		}
	}
}

// Of more than four instances a row has the fewest and the most requests, and the title no names.
func TestManyInstancesFitARow(t *testing.T) {
	parts := map[string]int{}
	for i := range 12 {
		parts[fmt.Sprintf("instance-%d", i)] = 55 + i/6
	}
	for want, with := range map[string]map[string]int{
		"12 × 55 to 56": parts, "5 × 4": {"a": 4, "b": 4, "c": 4, "d": 4, "e": 4}, "1 + 2 + 3 + 4": {"a": 1, "b": 2, "c": 3, "d": 4}, "0": nil,
	} {
		if got := requests(with); got != want {
			t.Errorf("%v is %q, want %q", with, got, want)
		}
	}
	r := &burst.Results{Users: 666, Drivers: 20, Rounds: 1, Tool: "app", Topology: "single", URL: "http://nginx:8000"}
	r.Pageview = []burst.PageviewRow{{Judged: burst.Judged{Version: "v3", PerInstance: parts}}}
	r.Order = []burst.OrderRow{{Judged: burst.Judged{Version: "v3"}}}
	if text := Bursts(r, Screen{}); strings.Contains(text, "instance-") || !strings.Contains(text, "  12 × 55 to 56  ") {
		t.Errorf("%s", text)
	}
}

// The whole trial says whether keys need names, also what comes after the violation and is not drawn.
func TestAStoryNamesTheKeys(t *testing.T) {
	r := lab.Record{Variants: []lab.VariantRecord{{Name: "v", Trials: []lab.TrialRecord{{Number: 1}}}}}
	for i, e := range []history.Event{
		{Kind: history.Grant, Key: "lock:a"},
		{Kind: history.Refuse, Key: "lock:b"},
		{Kind: history.Release, Key: "lock:a"},
		{Kind: history.Grant, Key: "lock:b"},
		{Kind: history.Release, Key: "lock:a"},
	} {
		e.Seq, e.Variant, e.Trial, e.Timeline = i+1, "v", 1, "A"
		r.Events = append(r.Events, e)
	}
	text := Story(r, lab.VariantJudgement{Name: "v", Violation: &history.Violation{Events: []int{2}}})
	if !strings.Contains(text, "grant a\n") || !strings.Contains(text, "refuse b\n") || strings.Contains(text, "release") {
		t.Errorf("it is\n%s", text)
	}
}
