package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/loadtest/benchmark/runner"
)

// Rows are counted before the first, and a long one weighs more.
func TestTold(t *testing.T) {
	plan := []runner.Workload{
		{Name: "burst", Times: 2, Locks: []string{"ours"}}, {Name: "sustained", Lasts: 5 * time.Second, Locks: []string{"ours"}},
	}
	rounds := runCommand{Reps: 2}.rounds(plan)
	var out strings.Builder
	tell := newTold(&out)
	for _, r := range rounds {
		tell.expects(r, len(r.rows))
	}
	for _, r := range rounds {
		tell.begins(r, r.rows[0])
	}
	const want = "1/6 burst ours\n2/6 burst ours\n3/6 sustained ours\n4/6 burst ours\n5/6 burst ours\n6/6 sustained ours\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if tell.done != tell.whole || tell.whole != 16*time.Second {
		t.Errorf("%s of %s, want 16 s of as many", tell.done, tell.whole)
	}
}

// The command replaces the tables of the page, and leaves it as it was when the runs cannot be read.
func TestScaleCommand(t *testing.T) {
	out := filepath.Join(t.TempDir(), "scale.md")
	want, err := os.ReadFile("scale/testdata/page.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, []byte(strings.ReplaceAll(string(want), "| 2 | ours |", "| 2 | another |")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, runs := range []string{"scale/testdata/scale.jsonl", "scale/testdata/none.jsonl"} {
		missing := strings.HasSuffix(runs, "none.jsonl")
		if err := (scaleCommand{Runs: runs, Out: out}).Run(); (err != nil) != missing {
			t.Errorf("%s: %v", runs, err)
		}
		if got, err := os.ReadFile(out); err != nil || string(got) != string(want) {
			t.Errorf("%s: the page is another one: %v\n%s", runs, err, got)
		}
	}
}
