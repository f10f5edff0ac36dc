package page

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"locklab/internal/benchfile"
)

var update = flag.Bool("update", false, "write what is made as what is wanted")

// The page of a saved file, and of nothing else: the same file makes the same page.
func TestPage(t *testing.T) {
	in, err := os.Open("testdata/runs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	saved, err := benchfile.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := Write(&got, saved); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/page.md", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/page.md")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the page is not testdata/page.md; go test ./page -update writes it. Got:\n%s", got.String())
	}
}

// The page counts the goals that are met, and the updates that our locks have lost.
func TestTheFirstLine(t *testing.T) {
	all := benchfile.Runs{
		{Workload: "burst", Lock: "local", Seconds: 1},
		{Workload: "burst", Lock: "ours", Seconds: 1.3},
		{Workload: "http", Lock: "v2", Seconds: 1, Lost: 300},
	}
	lost := append(slices.Clone(all), benchfile.Run{Workload: "http", Lock: "v3", Seconds: 1, Lost: 2})
	for name, c := range map[string]struct {
		runs benchfile.Runs
		want string
	}{
		"nothing of ours is lost":   {all, "- 1 of the 2 goals that were measured are met. Our locks lost no update.\n"},
		"an update of ours is lost": {lost, "Our locks lost **2 updates**."},
		"nothing ran":               {nil, "- 0 of the 0 goals that were measured are met."},
	} {
		var out bytes.Buffer
		if err := Write(&out, benchfile.Saved{Runs: c.runs}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, c.want) {
			t.Errorf("%s: not on the page: %q\n%.500s", name, c.want, got)
		}
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
	var out bytes.Buffer
	if err := Write(&out, benchfile.Saved{Runs: all}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- **rueidislock failed in 1 of 2 runs**: `not woken up`",
		"| burst of 666, time: ours / local | ≤ 1.10 × | 1.10 × | yes |",
		"| burst of 666, time: best library / ours | ≥ 2.50 × | 2.73 × | yes |",
		"| sustained 2 × 32, Jain's index over all 64 waiters | ≥ 0.99 | – | not measured |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not on the page: %s", want)
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
	var out bytes.Buffer
	if err := Write(&out, benchfile.Saved{Runs: all}); err != nil {
		t.Fatal(err)
	}
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
		if !strings.Contains(out.String(), want) {
			t.Errorf("not on the page: %s", want)
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
	made := func(runs []benchfile.Run) string {
		var out bytes.Buffer
		if err := Write(&out, benchfile.Saved{Runs: runs}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	const goal = "| over HTTP, burst of 666, time: v3 / v2 | ≤ 1.30 × | 1.10 × | "
	for _, want := range []string{
		goal + "yes |",
		"| version | lock | ms min / **med** / max | × v1 | × v2 | failed | lost | runs |",
		"| v2 | process mutex | 100 / **200** / 300 | – | 1.00 | 0 | 990 | 3 |",
		"| v3 | Redis lock | 110 / **250** / 300 | – | 1.10 | 0 | 0 | 3 |",
	} {
		if got := made(all); !strings.Contains(got, want) || strings.Contains(got, "**v2 failed") {
			t.Errorf("not on the page: %s", want)
		}
	}
	lossy := benchfile.Run{Workload: "http", Lock: "v3", Rep: 3, Seconds: 0.1, Lost: 1, Error: "it must not happen and did"}
	bad := append(slices.Clone(all), lossy)
	if got := made(bad); !strings.Contains(got, goal+"no: 0 failed, 1 lost |") || !strings.Contains(got, "**v3 failed in 1 of 4 runs**") {
		t.Error("what v3 lost is no failure")
	}
}
