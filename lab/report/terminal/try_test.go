package terminal

import (
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/clients/protocol"
	"locklab/lab/history"
	"locklab/lab/scorecard"
)

// A scorecard has why a promise does not hold, with the drawing of its first violation, what was measured, a row for each promise, and how
// many have each result. The rows stand last, before the result: a terminal shows the end.
func TestScorecard(t *testing.T) {
	variant := func(v lab.Verdict, who string) lab.VariantJudgement {
		return lab.VariantJudgement{Verdict: v, Evidence: []history.Event{{Timeline: who, Kind: history.Grant, Key: "k"}}}
	}
	measured := lab.Measured{Quantity: lab.Count.Of("commands"), Variant: "alone", Values: []int64{7}}
	text := Scorecard(&scorecard.Scorecard{
		Name: "mylock", Program: []string{"python3", "my\x1block.py", "a path/it's"}, Server: "miniredis", Pace: 2, Took: 3,
		Report: "store/report.html", Stopped: "it was interrupted",
		Claims: protocol.Claims{Store: "redis"},
		Rows: []scorecard.Score{
			{
				ID: "T01-exclusion", Title: "Exclusion", State: scorecard.Violated, Why: "two\nholders", Stderr: "a\x1brow\nlast line", Took: 1.25,
				Variants: []lab.VariantJudgement{
					variant(lab.AsExpected, "hidden"), variant(lab.Unexpected, "shown"), variant(lab.Unexpected, "left to the report"),
				},
			},
			{ID: "T02-release", Title: "Release", State: scorecard.Holds},
			{ID: "T03-lease", Title: "Lease", State: scorecard.Inconclusive},
			{ID: "T04-cost", Title: "Cost", State: scorecard.Holds, Measures: []lab.Measured{measured}},
			{ID: "T05-fairness", Title: "Fairness", State: scorecard.NotClaimed},
			{ID: "T06-told", Title: "Told", State: scorecard.NotTried},
		},
	}, Screen{})
	words := strings.Join(strings.Fields(text), " ")
	for _, says := range []string{
		"mylock time result", "T01 Exclusion 1.2 s violated", "T02 Release 0.0 s holds", "commands T04, alone 7",
		"T01-exclusion: violated: two; holders The end of the program's stderr: a\uFFFDrow last line", "shown", "Report: store/report.html",
		"python3 'my\uFFFDlock.py' 'a path/it'\\''s' (3.0 s; store: redis; server: miniredis)", "Pace: ",
		"Stopped: it was interrupted", "Result: 2 hold, 1 violated (T01), 1 inconclusive, 1 not tried, 1 not claimed.",
	} {
		if !strings.Contains(words, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
	for _, unsaid := range []string{"hidden", "left to the report", "T02-release:"} {
		if strings.Contains(text, unsaid) {
			t.Errorf("it explains %q:\n%s", unsaid, text)
		}
	}
	at := -1
	for _, part := range []string{"T01-exclusion: violated", "shown", "with a violation: 1", "commands", "T06 ", "Report:", "Result:"} {
		if next := strings.Index(text, part); next <= at {
			t.Fatalf("%q does not follow:\n%s", part, text)
		} else {
			at = next
		}
	}
}

// The list of what is tried has each promise, why it matters, and for which claim it is tried.
func TestTried(t *testing.T) {
	text := Tried([]scorecard.Row{
		{ID: "T01-exclusion", Title: "Exclusion", Promise: "One holder.", Matters: "Updates."},
		{ID: "T05-fairness", Title: "Fairness", Claim: scorecard.Claim{Name: "fair"}},
	}, Screen{})
	const first = "T01-exclusion · Exclusion\n  One holder.\n  Why it matters: Updates.\n\n"
	if !strings.HasPrefix(text, first) || !strings.HasSuffix(text, "\n  Tried when the program claims: fair\n\n") {
		t.Errorf("it is\n%s", text)
	}
}
