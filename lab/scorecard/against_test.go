package scorecard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab/scorecard"
)

func cardOf(name string, at time.Time, states map[string]scorecard.State) *scorecard.Scorecard {
	c := &scorecard.Scorecard{Name: name, Ended: at}
	for _, row := range scorecard.Rows() {
		if state, has := states[row.ID[:3]]; has {
			score := scorecard.Score{ID: row.ID, Title: row.Title, State: state}
			if state == scorecard.NotClaimed {
				score.Why = "the program does not claim `" + row.Claim.Name + "`"
			}
			c.Rows = append(c.Rows, score)
		}
	}
	return c
}

// A row is worse when it keeps less than before, and better when it keeps more. A row that is violated as before is no change.
func TestWhatBecameWorse(t *testing.T) {
	t.Parallel()
	for change, want := range map[[2]scorecard.State]scorecard.Trend{
		{scorecard.Holds, scorecard.Violated}: scorecard.Worse, {scorecard.Holds, scorecard.Inconclusive}: scorecard.Worse,
		{scorecard.Holds, scorecard.NotTried}: scorecard.Unclear, {scorecard.Holds, scorecard.NotClaimed}: scorecard.Worse,
		{scorecard.Violated, scorecard.NotClaimed}: scorecard.Worse, {scorecard.Inconclusive, scorecard.Violated}: scorecard.Worse,
		{scorecard.NotTried, scorecard.Violated}: scorecard.Worse, {scorecard.NotClaimed, scorecard.Violated}: scorecard.Worse,
		{scorecard.Violated, scorecard.Holds}: scorecard.Better, {scorecard.Inconclusive, scorecard.Holds}: scorecard.Better,
		{scorecard.NotClaimed, scorecard.Holds}: scorecard.Better, {scorecard.NotTried, scorecard.Holds}: scorecard.Better,
		{scorecard.Violated, scorecard.Inconclusive}: scorecard.Unclear, {scorecard.NotClaimed, scorecard.Inconclusive}: scorecard.Unclear,
		{scorecard.Holds, scorecard.Holds}: "", {scorecard.Violated, scorecard.Violated}: "",
	} {
		now := cardOf("x", time.Time{}, map[string]scorecard.State{"T02": change[1]})
		changes := now.Against(cardOf("x", time.Time{}, map[string]scorecard.State{"T02": change[0]}))
		got := scorecard.Trend("")
		if len(changes) == 1 {
			got = changes[0].Trend
		}
		if got != want || scorecard.AnyWorse(changes) != (want == scorecard.Worse) {
			t.Errorf("%s → %s is %q, want %q", change[0], change[1], got, want)
		}
	}
}

// Rows that only one of two scorecards has are new or gone, and neither is worse. Rows that this run left out are not compared.
func TestRowsThatAreNewOrGone(t *testing.T) {
	t.Parallel()
	now := cardOf("x", time.Time{}, map[string]scorecard.State{"T02": scorecard.Violated})
	earlier := cardOf("x", time.Time{}, map[string]scorecard.State{"T03": scorecard.Holds})
	earlier.Rows = append(earlier.Rows, scorecard.Score{ID: "T99-old", State: scorecard.Holds})
	var got []string
	changes := now.Against(earlier)
	for _, c := range changes {
		got = append(got, c.String())
	}
	if text := strings.Join(got, ", "); text != "T02 violated (new), T99 holds (gone)" || scorecard.AnyWorse(changes) {
		t.Error(text)
	}
}

// A file that is no scorecard gets a sentence with what to do, and one that a run has saved is read.
func TestReadCard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, says string }{
		"page.html": {"<html>", "page.json"}, "none.json": {"[]", "is no scorecard"}, "other.json": {`{"name":"x"}`, "without rows"},
		"state.json": {`{"rows":[{"id":"T01-a","state":"great"}]}`, `unknown state "great"`}, "torn.json": {`{"rows":[{`, "is no scorecard"},
		"missing.json": {"", "try/NAME-TIME.json"}, "good.json": {`{"rows":[{"id":"T01-a","state":"holds"}]}`, ""},
	} {
		path := filepath.Join(dir, name)
		if c.text != "" {
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		card, err := scorecard.ReadCard(path)
		switch {
		case c.says == "" && (err != nil || card.Rows[0].State != scorecard.Holds):
			t.Errorf("%s: %v, %v", name, card, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v does not say %q", name, err, c.says)
		}
	}
}

// The history of a lock begins with its oldest scorecard. A row is compared with the last run that tried it, whatever ran in between.
func TestHistory(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 11, n, 9, 0, 0, 0, time.UTC) }
	type states = map[string]scorecard.State
	all := scorecard.History([]*scorecard.Scorecard{
		cardOf("mine", day(10), states{"T02": scorecard.Violated}),
		cardOf("mine", day(9), states{"T02": scorecard.NotTried, "T03": scorecard.Holds}),
		cardOf("mine", day(5), states{"T02": scorecard.Violated, "T03": scorecard.Holds}),
		cardOf("other", day(4), states{"T02": scorecard.Holds}),
		cardOf("mine", day(3), states{"T03": scorecard.Holds}), // --only T03
		cardOf("mine", day(1), states{"T02": scorecard.Holds, "T03": scorecard.Violated}),
	}, "mine")
	var got []string
	for _, p := range all {
		var changes []string
		for _, c := range p.Changes {
			changes = append(changes, c.String())
		}
		got = append(got, p.Ended.Format("02")+": "+strings.Join(changes, ", "))
	}
	if text := strings.Join(got, "; "); text != "01: ; 03: T03 violated → holds; 05: T02 holds → violated; 09: ; 10: " {
		t.Error(text)
	}
	if all[0].Counts[scorecard.Holds] != 1 || all[0].Counts[scorecard.Violated] != 1 || all[0].Counts[scorecard.Inconclusive] != 0 {
		t.Errorf("%+v", all[0])
	}
}
