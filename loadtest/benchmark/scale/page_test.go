package scale

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"locklab/internal/benchfile"
	"locklab/loadtest/benchmark/page"
	"locklab/loadtest/benchmark/runner"
)

var update = flag.Bool("update", false, "write what is made as what is wanted")

func written(t *testing.T, saved benchfile.Saved) string {
	t.Helper()
	var got bytes.Buffer
	if err := Write(&got, saved); err != nil {
		t.Fatal(err)
	}
	return got.String()
}

func example(t *testing.T) benchfile.Saved {
	t.Helper()
	in, err := os.Open("testdata/scale.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	saved, err := benchfile.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// The page of a saved file, and of nothing else: the same file makes the same page.
func TestPage(t *testing.T) {
	got := written(t, example(t))
	if *update {
		if err := os.WriteFile("testdata/page.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/page.md")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the page is not testdata/page.md; go test ./scale -update writes it. Got:\n%s", got)
	}
}

// Every row of the plan is in a table: a figure that is changed changes the page. The example has the rows of the plan, and no other.
func TestEveryRowIsShown(t *testing.T) {
	saved := example(t)
	all, planned := measurements(saved.Runs), 0
	for _, w := range runner.Scale() {
		for _, lock := range w.Locks {
			planned++
			row := saved.Runs.Row(w.Name, lock)
			if len(row) == 0 {
				t.Errorf("%s, %s: not in the example", w.Name, lock)
				continue
			}
			var changed benchfile.Runs
			for _, r := range saved.Runs {
				if r.Workload == w.Name && r.Lock == lock {
					r.ServerCPU, r.Commands = r.ServerCPU*3, r.Commands*3
				}
				changed = append(changed, r)
			}
			if maps.Equal(measurements(changed), all) {
				t.Errorf("%s, %s: not on the page", w.Name, lock)
			}
		}
	}
	if planned != len(saved.Runs) {
		t.Errorf("%d rows in the plan, %d runs in the example of one repetition", planned, len(saved.Runs))
	}
}

// Runs of this plan are not in the tables of docs/benchmark.md.
func TestTheOtherPageHasNoneOfTheseRows(t *testing.T) {
	var with, without bytes.Buffer
	saved := example(t)
	if err := page.Tables(&with, benchfile.Saved{Runs: saved.Runs}); err != nil {
		t.Fatal(err)
	}
	if err := page.Tables(&without, benchfile.Saved{}); err != nil {
		t.Fatal(err)
	}
	if with.String() != without.String() {
		t.Errorf("docs/benchmark.md would have:\n%s", with.String())
	}
}

// A quick look, or a run that was interrupted, makes a page that says what is missing.
func TestAPageOfNothing(t *testing.T) {
	got := written(t, benchfile.Saved{Header: benchfile.Header{Processors: 2}})
	if n := strings.Count(got, unmeasured); n != 3 {
		t.Errorf("%d conclusions are missing, want 3", n)
	}
	if !strings.Contains(got, "Nothing was simulated: a row that the model needs is missing.") {
		t.Error("something was simulated")
	}
	var tables bytes.Buffer
	if err := Tables(&tables, benchfile.Saved{}); err != nil || !strings.Contains(tables.String(), "sustained") {
		t.Errorf("%v, %s", err, tables.String())
	}
}

// The shares are those of the least even run. A run without shares, because it failed, is left out.
func TestShares(t *testing.T) {
	row := benchfile.Runs{{Shares: []float64{0.5, 0.5}}, {Shares: []float64{0.2, 0.8}}, {}, {Shares: []float64{0.4, 0.6}}}
	if got := shares(row); got != "0.40 to 1.60" {
		t.Error(got)
	}
}

// One row with a disturbed run does not change the median row.
func TestSpreads(t *testing.T) {
	all := joined(
		rates(runner.ScaleSustained+"2", "ours", 100, 150), rates(runner.ScaleSustained+"4", "ours", 100, 110, 120),
		rates(runner.ScaleSustained+"8", "ours", 100, 400), rates(runner.ScaleSustained+"16", "ours", 100),
	)
	if got := spreads(all); got.Median != 1.5 || got.Most != 4 {
		t.Errorf("%+v", got)
	}
}

// A file that does not say how many processors there were makes a page without a simulation, and with the reason.
func TestAPageWithoutProcessors(t *testing.T) {
	saved := example(t)
	saved.Header.Processors = 0
	got := written(t, saved)
	if !strings.Contains(got, "Nothing was simulated: the file does not say how many processors the machine has.") {
		t.Error("the reason is missing")
	}
	if strings.Contains(got, "0 processors") || !strings.Contains(got, "they share processors") {
		t.Error("the page tells a number of processors")
	}
}

// A row that gave the model figures does not check it. With several repetitions a prediction has a range.
func TestChecksAndRanges(t *testing.T) {
	saved := example(t)
	again := slices.Clone(saved.Runs)
	for i := range again {
		again[i].Rep, again[i].Rate, again[i].ServerCPU = 1, again[i].Rate/2, again[i].ServerCPU*2
	}
	saved.Runs = append(saved.Runs, again...)
	s := simulate(saved)
	for _, c := range s.checks {
		if c.text == "keys: 16" {
			t.Error("16 keys are calibration and check")
		}
	}
	for _, p := range s.far {
		if len(p.alone) != 2 || p.alone[1].one >= p.alone[0].one {
			t.Fatalf("%+v", p)
		}
		if !strings.Contains(farTable(s.far), " ("+round(p.alone[1].one)+" to "+round(p.alone[0].one)+")") {
			t.Errorf("%+v", p)
		}
	}
}
