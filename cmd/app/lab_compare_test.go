package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/lab/report/compare"
)

// Without a benchmark run, the page keeps the numbers of an earlier one.
func TestCompareKeepsTheBenchmark(t *testing.T) {
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

// The page is created, or updated between its markers. A page without markers is an error and stays as it is.
func TestWriteTopologies(t *testing.T) {
	c := labTopologiesCommand{Out: filepath.Join(t.TempDir(), "page.md")}
	const page = "a\n<!-- topologies: x -->\n%s<!-- /topologies -->\n"
	for before, want := range map[string]string{
		"": "seen\n", fmt.Sprintf(page, "old\n"): fmt.Sprintf(page, "seen\n"), "a poem": "",
	} {
		_ = os.Remove(c.Out)
		if before != "" && os.WriteFile(c.Out, []byte(before), 0o600) != nil {
			t.Fatal("no file")
		}
		err := c.write("seen\n")
		if text, _ := os.ReadFile(c.Out); (err != nil) != (want == "") || err == nil && string(text) != want {
			t.Errorf("%q becomes %q, %v", before, text, err)
		}
	}
}

// app lab compare prints the tables without --write. A file that is not from the benchmark is an error.
func TestComparePrints(t *testing.T) {
	dir := t.TempDir()
	args := []string{"lab", "compare", "--store=" + dir, "--dir=" + dir, "--bench"}
	got := app(t.Context(), append(args, filepath.Join(dir, "none"))...)
	if got.code != exitOK || got.err != "" || !strings.Contains(got.out, "\nspeed:\n\n| lock |") {
		t.Errorf("exit %d: %s%s", got.code, got.out, got.err)
	}
	wantSentence(t, app(t.Context(), append(args, writeTemp(t, "a poem"))...), exitUnavailable, "make bench")
}
