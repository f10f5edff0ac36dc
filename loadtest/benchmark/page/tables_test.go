package page

import (
	"os"
	"strings"
	"testing"

	"locklab/internal/marked"
	"locklab/lab/report/benchfile"
)

// The tables of the pages are those of the committed runs.
func TestTheTablesAreCurrent(t *testing.T) {
	for page, runs := range map[string]string{"benchmark.md": "runs.jsonl", "scale.md": "scale.jsonl"} {
		in, err := os.Open("../" + runs)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		saved, err := benchfile.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		if stale, err := marked.Stale("../../../docs/"+page, Blocks(saved)); err != nil || len(stale) > 0 {
			t.Errorf("docs/%s has other tables than %s: %v, %v", page, runs, stale, err)
		}
	}
}

// A row that fails is shown as one that failed, and its figures are in no ratio.
func TestFailuresAreShown(t *testing.T) {
	blocks := Blocks(benchfile.Saved{Runs: benchfile.Runs{
		{Workload: "burst", Lock: "local", Seconds: 1},
		{Workload: "burst", Lock: "local", Rep: 1, Seconds: 1},
		{Workload: "burst", Lock: "redsync", Seconds: 3},
		{Workload: "burst", Lock: "redsync", Rep: 1, Seconds: 0.1, Failed: 3, Lost: 1, Error: "not\nwoken up"},
	}})
	for _, want := range []string{
		"| redsync | 100 / **1550** / 3000 | 3.00 | 0.00 | 2 |",
		"- **redsync failed in 1 of 2 runs**, waiters failed: 3, updates lost: 1: `not woken up`",
	} {
		if !strings.Contains(blocks["burst"], want) {
			t.Errorf("no %s in\n%s", want, blocks["burst"])
		}
	}
	if len(blocks) != 2 {
		t.Errorf("tables without runs: %v", blocks)
	}
}

// A table of several workloads is sorted by their number.
func TestNumberedRows(t *testing.T) {
	got := Blocks(benchfile.Saved{Runs: benchfile.Runs{
		{Workload: "scale-keys-16", Lock: "ours", Seconds: 1, Rate: 9},
		{Workload: "scale-keys-4", Lock: "ours", Seconds: 1, Rate: 8},
	}})["scale-keys"]
	four, sixteen := strings.Index(got, "\n| 4 | ours | 8.00"), strings.Index(got, "\n| 16 | ours | 9.00")
	if four < 0 || sixteen < four {
		t.Error(got)
	}
}
