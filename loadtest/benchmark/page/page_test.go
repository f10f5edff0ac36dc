package page

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"locklab/internal/marked"
	"locklab/lab/report/benchfile"
)

var update = flag.Bool("update", false, "write what is made as what is wanted")

// text is all tables of made-up runs, one after another.
func text(runs ...benchfile.Run) string {
	blocks := Blocks(benchfile.Saved{Runs: runs})
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		all.WriteString(blocks[name])
	}
	return all.String()
}

// The same file makes the same tables, and docs/benchmark.md has a place for each of them.
func TestBlocks(t *testing.T) {
	in, err := os.Open("testdata/runs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	saved, err := benchfile.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/page.md"
	blocks := Blocks(saved)
	if *update {
		if err := marked.UpdateAll(golden, blocks); err != nil {
			t.Fatal(err)
		}
	}
	if stale, err := marked.Stale(golden, blocks); err != nil || len(stale) > 0 {
		t.Errorf("%v are not those of %s (%v); go test ./page -update writes them", stale, golden, err)
	}
	if _, err := marked.Stale("../../../docs/benchmark.md", blocks); err != nil {
		t.Error(err)
	}
}

// Runs of some workloads replace the tables of these, which say when they were measured, and no other.
func TestBlocksOfSomeWorkloads(t *testing.T) {
	header := benchfile.Header{Form: benchfile.QuickLook, Date: "2026-11-28 18:00 UTC", Stamp: "abc", Machine: "2 × Xeon"}
	blocks := Blocks(benchfile.Saved{Header: header, Runs: benchfile.Runs{{Workload: "burst", Lock: "redsync-mutex", Seconds: 1}}})
	table := blocks["burst"]
	if len(blocks) != 1 || !strings.Contains(table, "2026-11-28 18:00 UTC, tree `abc`") || !strings.Contains(table, "\n| redsync-mutex |") {
		t.Errorf("%v", blocks)
	}
}

// The caption counts the goals that are met, and the updates that our locks have lost.
func TestTheCaption(t *testing.T) {
	all := []benchfile.Run{
		{Workload: "burst", Lock: "local", Seconds: 1},
		{Workload: "burst", Lock: "ours", Seconds: 1.3},
		{Workload: "http", Lock: "v2", Seconds: 1, Lost: 300},
	}
	lost := append(slices.Clone(all), benchfile.Run{Workload: "http", Lock: "v3", Seconds: 1, Lost: 2})
	for name, c := range map[string]struct {
		runs []benchfile.Run
		want string
	}{
		"nothing of ours is lost":   {all, "| goals met | 1 of 2 measured |\n| updates lost by our locks | 0 |\n"},
		"an update of ours is lost": {lost, "| updates lost by our locks | 2 |\n"},
		"a library loses behind a mutex": {
			append(slices.Clone(all), benchfile.Run{Workload: "burst", Lock: "redsync-mutex", Lost: 2}), "| updates lost by our locks | 0 |\n",
		},
		"nothing ran": {nil, "| goals met | 0 of 0 measured |\n"},
	} {
		if got := text(c.runs...); !strings.Contains(got, c.want) {
			t.Errorf("%s: no %q in\n%.500s", name, c.want, got)
		}
	}
	missing := Caption(benchfile.Saved{Header: benchfile.Header{Missing: map[string]string{"zk.Lock": "a | b"}}})
	if !strings.Contains(missing, `| not measured: zk.Lock | a \| b |`) {
		t.Error(missing)
	}
}

// A row that fails is shown as one that failed, and its figures are in no ratio.
func TestFailuresAreShown(t *testing.T) {
	all := benchfile.Runs{
		{Workload: "burst", Lock: "local", Seconds: 1},
		{Workload: "burst", Lock: "ours", Seconds: 1.1},
		{Workload: "burst", Lock: "rueidislock", Seconds: 3},
		{Workload: "burst", Lock: "rueidislock", Rep: 1, Seconds: 0.1, Failed: 3, Error: "not\nwoken up"},
	}
	got := text(all...)
	for _, want := range []string{
		"- **rueidislock failed in 1 of 2 runs**: `not woken up`",
		"| burst of 666, time: ours / local | ≤ 1.10 × | 1.10 × | yes |",
		"| burst of 666, time: best library / ours | ≥ 2.50 × | 2.73 × | yes |",
		"| sustained 2 × 32, Jain's index over all 64 waiters | ≥ 0.99 | – | not measured |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}

func TestJudge(t *testing.T) {
	at := func(value float64, ok bool) measure {
		return measure{"burst", "ours", "", func(benchfile.Runs) (float64, bool) { return value, ok }}
	}
	lost := benchfile.Runs{{Workload: "burst", Lock: "ours", Lost: 1}}
	for _, c := range []struct {
		goal goal
		all  benchfile.Runs
		want string
	}{
		{goal{"", atMost(2), at(2, true)}, nil, "yes"},
		{goal{"", atMost(2), at(2.004, true)}, nil, "no"},
		{goal{"", atMost(2), at(2.1, true)}, nil, "no"},
		{goal{"", atLeast(2), at(2, true)}, nil, "yes"},
		{goal{"", atLeast(2), at(1.9, true)}, nil, "no"},
		{goal{"", atMost(2), at(0, false)}, nil, "not measured"},
		{goal{"", atMost(2), at(1, true)}, lost, "no: 0 failed, 1 lost"},
	} {
		if got := c.goal.judge(c.all).Met; got != c.want {
			t.Errorf("%+v: %q, want %q", c.goal.bound, got, c.want)
		}
	}
	near := goal{"", atMost(2), at(2.004, true)}
	if got := near.judge(nil).Measured; got != "2.004" {
		t.Errorf("%s, which is not met, is shown as the bound of 2.00", got)
	}
}

// A backend is compared with v3 in the same group of workloads, and with its bare form even where that served few of its waiters.
func TestBackends(t *testing.T) {
	all := benchfile.Runs{
		{Workload: "burst", Lock: "ours", Seconds: 9},
		{Workload: "backends-burst", Lock: "ours", Seconds: 0.1},
		{Workload: "backends-burst", Lock: "v5", Seconds: 0.12, Rate: 5000},
		{Workload: "backends-burst", Lock: "v5-bare", Seconds: 8, Rate: 20, Failed: 506, Error: "deadline exceeded"},
		{Workload: "backends-burst", Lock: "v7", Seconds: 0.2, Rate: 3000},
		{Workload: "backends-burst", Lock: "v7-bare", Seconds: 1, Rate: 600},
		{Workload: "backends-sustained", Lock: "v5", Seconds: 1, Jain: 0.5, JainProcesses: 0.995},
		{Workload: "backends-sustained", Lock: "v7", Seconds: 1, Jain: 1, JainProcesses: 0.9},
		{Workload: "backends-burst", Lock: "v8", Seconds: 0.1, Rate: 5000, Lost: 1},
		{Workload: "backends-burst", Lock: "v8-bare", Seconds: 8, Rate: 1},
	}
	got := text(all...)
	for _, want := range []string{
		"| burst of 666, time: v5 / v3 | ≤ 1.50 × | 1.20 × | yes |",
		"| burst of 666, sections per second: v5 / its bare form | ≥ 10.0 × | 250 × | yes |",
		"| sustained 2 × 32, Jain's index over the processes: v5 | ≥ 0.99 | 0.99 | yes |",
		"| burst of 666, time: v6 / v3 | ≤ 1.50 × | – | not measured |",
		"| burst of 666, time: v7 / v3 | ≤ 1.50 × | 2.00 × | no |",
		"| burst of 666, sections per second: v7 / its bare form | ≥ 10.0 × | 5.00 × | no |",
		"| sustained 2 × 32, Jain's index over the processes: v7 | ≥ 0.99 | 0.90 | no |",
		"| burst of 666, sections per second: v8 / its bare form | ≥ 10.0 × | – | no: 0 failed, 1 lost |",
		"**v5-bare failed in 1 of 1 runs**: `deadline exceeded`",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
}

// Lost updates of v1 and v2 are expected, and spoil no ratio. Lost updates of v3 do.
func TestLossesOverHTTP(t *testing.T) {
	all := benchfile.Runs{
		{Workload: "http", Lock: "v2", Seconds: 0.2, Lost: 340},
		{Workload: "http", Lock: "v3", Seconds: 0.25},
		{Workload: "http", Lock: "v2", Rep: 1, Seconds: 0.1, Lost: 330},
		{Workload: "http", Lock: "v3", Rep: 1, Seconds: 0.11},
		{Workload: "http", Lock: "v2", Rep: 2, Seconds: 0.3, Lost: 320},
		{Workload: "http", Lock: "v3", Rep: 2, Seconds: 0.3},
	}
	const goal = "| over HTTP, burst of 666, time: v3 / v2 | ≤ 1.30 × | 1.10 × | "
	for _, want := range []string{
		goal + "yes |",
		"| version | lock | ms min / **med** / max | × v1 | × v2 | failed | lost | runs |",
		"| v2 | process mutex | 100 / **200** / 300 | – | 1.00 | 0 | 990 | 3 |",
		"| v3 | Redis lock | 110 / **250** / 300 | – | 1.10 | 0 | 0 | 3 |",
	} {
		if got := text(all...); !strings.Contains(got, want) || strings.Contains(got, "**v2 failed") {
			t.Errorf("no %s", want)
		}
	}
	lossy := benchfile.Run{Workload: "http", Lock: "v3", Rep: 3, Seconds: 0.1, Lost: 1, Error: "it must not happen and did"}
	bad := append(slices.Clone(all), lossy)
	if got := text(bad...); !strings.Contains(got, goal+"no: 0 failed, 1 lost |") || !strings.Contains(got, "**v3 failed in 1 of 4 runs**") {
		t.Error("what v3 lost is no failure")
	}
}
