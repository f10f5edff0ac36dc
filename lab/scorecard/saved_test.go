package scorecard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/lab/scorecard"
)

// No run replaces the page of another, whatever its lock is called, and a long name is no reason to lose a run.
func TestEachRunHasAPageOfItsOwn(t *testing.T) {
	t.Parallel()
	store, at := t.TempDir(), time.Date(2026, 11, 28, 13, 14, 15, 0, time.UTC)
	for _, name := range []string{"My Lock", "my-lock", "my-lock", strings.Repeat("자", 90), strings.Repeat("자", 91), "../x", ""} {
		page, err := scorecard.NewPage(store, name, at)
		if err != nil {
			t.Fatal(err)
		}
		card := &scorecard.Scorecard{Name: name, Report: page.Name()}
		if err := card.Save(); err != nil || page.Close() != nil {
			t.Error(err)
		}
	}
	cards, err := scorecard.Saved(store)
	names := map[string]int{}
	for _, card := range cards {
		names[card.Name]++
	}
	if err != nil || len(cards) != 7 || names["my-lock"] != 2 {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := os.Stat(filepath.Join(store, "try", "my-lock-20261128-131415-3.json")); err != nil {
		t.Error(err)
	}
}
