package main

import (
	"os"
	"path/filepath"
	"testing"

	"locklab/report/compare"
)

// Without a run of the benchmark, a page loses nothing that an earlier run has measured.
func TestAComparisonKeepsTheBenchmark(t *testing.T) {
	page := filepath.Join(t.TempDir(), "compare.md")
	text := func(speed, failure string) string {
		return "<!-- speed: by -->\n" + speed + "\n<!-- /speed -->\n<!-- failure: by -->\n" + failure + "\n<!-- /failure -->\n"
	}
	parts := []compare.Part{{Name: "speed", Text: "new\n", Bench: true}, {Name: "failure", Text: "new\n"}}
	for measured, want := range map[bool]string{false: text("old", "new"), true: text("new", "new")} {
		if err := os.WriteFile(page, []byte(text("old", "old")), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writeParts(page, parts, measured); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(page); string(got) != want {
			t.Errorf("measured %v: the page is\n%s", measured, got)
		}
	}
}
