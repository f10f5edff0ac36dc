package junit

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/lab"
	"locklab/lab/history"
	"locklab/lab/scorecard"
)

func row(id string, state scorecard.State, why string) scorecard.Score {
	return scorecard.Score{ID: id, Title: "title", State: state, Why: why, Took: 1.25}
}

// A CI sees each row once, as what it came to, with the reason, and its counts agree. No character of a program makes the file invalid.
func TestWrite(t *testing.T) {
	violated := row("T01-a", scorecard.Violated, "two\nholders <&\x1b\x00\xff")
	violated.Stderr = "panic ]]>\x07"
	violated.Variants = []lab.VariantJudgement{{
		Name: "the fault", Verdict: lab.Unexpected, Evidence: []history.Event{{Timeline: "A", Kind: history.Note, Text: "seen"}},
	}}
	cost := row("T15-e", scorecard.Holds, "")
	cost.Measures = []lab.Measured{{Quantity: lab.Count.Of("commands"), Variant: "alone", Values: []int64{7}}}
	var text strings.Builder
	err := Write(&text, &scorecard.Scorecard{
		Name: "my \"lock\"\x01", Took: 9, Ended: time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC), Stopped: "it grants nothing",
		Rows: []scorecard.Score{
			violated, row("T02-b", scorecard.Holds, ""), row("T03-c", scorecard.Inconclusive, "too slow"), row("T04-d", scorecard.NotTried, ""),
			row("T05-f", scorecard.NotClaimed, "the program does not claim `tokens`"), cost,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got suites
	if err := xml.Unmarshal([]byte(text.String()), &got); err != nil {
		t.Fatalf("%v in %s", err, text.String())
	}
	s := got.Suite
	counts := []int{s.Tests, s.Failures, s.Errors, s.Skipped}
	if s.Name != "my \"lock\"\ufffd" || !slices.Equal(counts, []int{6, 1, 2, 1}) || s.Timestamp != "2026-11-28T01:02:03" {
		t.Errorf("%+v", s)
	}
	c := s.Cases
	if f := c[0].Failure; f == nil || !strings.HasPrefix(f.Message, "two; holders <&\ufffd") || !strings.Contains(f.Text, "seen") ||
		c[0].Err != "panic ]]>\ufffd" || c[0].Name != "T01-a: title" || c[0].Class != "lab try" || c[0].Time != "1.250" {
		t.Errorf("violated: %+v", c[0])
	}
	if c[1].Failure != nil || c[1].Error != nil || c[1].Skipped != nil {
		t.Errorf("holds: %+v", c[1])
	}
	if c[2].Error == nil || c[2].Error.Message != "too slow" ||
		c[3].Error == nil || !strings.Contains(c[3].Error.Message, "it grants nothing") {
		t.Errorf("inconclusive: %+v, not tried: %+v", c[2], c[3])
	}
	if c[4].Skipped == nil || c[4].Skipped.Message != "the program does not claim `tokens`" || c[4].Failure != nil {
		t.Errorf("not claimed: %+v", c[4])
	}
	if c[5].Out != "alone: 7 commands\n" || c[5].Failure != nil || c[5].Error != nil || c[5].Skipped != nil {
		t.Errorf("measured: %+v", c[5])
	}
}
