package scale

import (
	"flag"
	"maps"
	"os"
	"regexp"
	"strconv"
	"testing"

	"locklab/internal/marked"
	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/page"
	"locklab/loadtest/benchmark/runner"
)

var update = flag.Bool("update", false, "write what is made as what is wanted")

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

// The same file makes the same tables, and docs/scale.md has a place for each of them.
func TestBlocks(t *testing.T) {
	const golden = "testdata/page.md"
	blocks, err := Blocks(example(t))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := marked.UpdateAll(golden, blocks); err != nil {
			t.Fatal(err)
		}
	}
	if stale, err := marked.Stale(golden, blocks); err != nil || len(stale) > 0 {
		t.Errorf("%v are not those of %s (%v); go test ./scale -update writes them", stale, golden, err)
	}
	if _, err := marked.Stale("../../../docs/scale.md", blocks); err != nil {
		t.Error(err)
	}
}

// Every row of the plan is in a table: a figure that is changed changes the page. The example has the rows of the plan, and no other.
func TestEveryRowIsShown(t *testing.T) {
	saved := example(t)
	all, planned := Measurements(saved.Runs), 0
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
			if maps.Equal(Measurements(changed), all) {
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
	if with := page.Measurements(example(t).Runs); !maps.Equal(with, page.Measurements(nil)) {
		t.Errorf("docs/benchmark.md would have:\n%v", with)
	}
}

// A quick look has tables, but a page needs all rows of the model, and the number of processors.
func TestARunWithoutTheModel(t *testing.T) {
	if blocks, err := Blocks(benchfile.Saved{Header: benchfile.Header{Processors: 2}}); err == nil {
		t.Errorf("no rows: %v", blocks)
	}
	saved := example(t)
	saved.Header.Processors = 0
	if blocks, err := Blocks(saved); err == nil {
		t.Errorf("no processors: %v", blocks)
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
	if got := spreads(all); len(got) != 1 || got[0][1] != "median 1.50, worst 4.00" {
		t.Errorf("%v", got)
	}
	if got := spreads(rates(runner.ScaleSustained+"16", "ours", 100)); got != nil {
		t.Errorf("one run: %v", got)
	}
}

// A row that gave the model figures does not check it.
//
// A prediction is never outside of its range. Here each repetition has another disturbed row, so none of them is like the medians.
func TestChecksAndRanges(t *testing.T) {
	saved := example(t)
	once, disturbed := saved.Runs, []string{runner.ScaleOne + "2", runner.ScaleKeys + "16", runner.ScaleSustained + "2"}
	saved.Runs = nil
	for rep, workload := range disturbed {
		for _, r := range once {
			if r.Rep = rep; r.Workload == workload {
				r.Rate, r.ServerCPU, r.ClientCPU = r.Rate/3, r.ServerCPU*3, r.ClientCPU*3
			}
			saved.Runs = append(saved.Runs, r)
		}
	}
	s, err := simulate(saved)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.checks {
		if c.text == "keys: 16" {
			t.Error("16 keys are calibration and check")
		}
	}
	cells := regexp.MustCompile(`([\d.]+) \(([\d.]+) to ([\d.]+)\)`).FindAllStringSubmatch(farTable(s.far), -1)
	if len(cells) < len(s.far) {
		t.Errorf("%d predictions have %d ranges", len(s.far), len(cells))
	}
	for _, cell := range cells {
		if middle := number(t, cell[1]); middle < number(t, cell[2]) || middle > number(t, cell[3]) {
			t.Error(cell[0])
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
