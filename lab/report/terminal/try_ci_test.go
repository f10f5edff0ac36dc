package terminal

import (
	"strings"
	"testing"
	"time"

	"locklab/lab/clients/protocol"
	"locklab/lab/scorecard"
)

func wantAll(t *testing.T, text string, all ...string) {
	t.Helper()
	words := strings.Join(strings.Fields(text), " ")
	for _, says := range all {
		if !strings.Contains(words, says) {
			t.Errorf("no %q in\n%s", says, text)
		}
	}
}

// The check shows each step, the claims, and what to do about the step that is wrong. No text of the program steers the terminal.
func TestCheckedProgram(t *testing.T) {
	text := CheckedProgram(&scorecard.Checked{
		Claims: protocol.Claims{Name: "my\x1block", Store: "redis", Tokens: true, LeaseMS: 2000},
		Steps:  []scorecard.CheckedStep{{Name: "hello", Took: 0.25, Done: true}, {Name: "start"}},
		Wrong:  "it printed \x1b", Mend: "Answer ready.", Stderr: []string{"a\x1bline"},
	}, Screen{})
	wantAll(t, text, "✓ hello (250 ms) ✗ start", "my\uFFFDlock, store redis", "Claims: tokens, fixed_lease_ms 2000",
		"tests of renews, tells_loss", "Wrong: it printed \uFFFD To do: Answer ready.", "stderr: a\uFFFDline")
	if strings.Contains(text, "speaks the protocol") {
		t.Error("it passes")
	}
}

// The rows that became worse come first, with the reason.
func TestChanges(t *testing.T) {
	earlier := &scorecard.Scorecard{Name: "mine", Ended: time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)}
	text := Changes(earlier, []scorecard.Change{
		{ID: "T02-a", Title: "first", Before: scorecard.Violated, Now: scorecard.Holds, Trend: scorecard.Better},
		{ID: "T03-b", Title: "second", Before: scorecard.Holds, Now: scorecard.Violated, Trend: scorecard.Worse, Why: "two\nholders"},
	}, Screen{})
	wantAll(t, text, "Against: mine of 2026-11-28 01:02 worse: T03 holds → violated, second: two; holders better: T02 violated → holds, first")
	wantAll(t, Changes(earlier, nil, Screen{}), "no row changed")
}

// The history has a line for each scorecard, with its date, its counts and what changed.
func TestHistory(t *testing.T) {
	text := History([]scorecard.Past{{
		Name: "mine", Ended: time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC),
		Counts:  map[scorecard.State]int{scorecard.Holds: 12, scorecard.Violated: 2},
		Changes: []scorecard.Change{{ID: "T05-x", Before: scorecard.Holds, Now: scorecard.Violated, Trend: scorecard.Worse}},
	}}, Screen{})
	wantAll(t, text, "2026-11-28 01:02 mine 14 of 27 12 2 0 T05 holds → violated")
}
