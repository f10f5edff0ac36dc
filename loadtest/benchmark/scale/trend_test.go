package scale

import (
	"slices"
	"testing"

	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/runner"
)

// rates makes one run for each rate. Redis takes 100 µs of a section.
func rates(workload, lock string, rates ...float64) (row benchfile.Runs) {
	for rep, rate := range rates {
		row = append(row, benchfile.Run{
			Workload: workload, Lock: lock, Rep: rep, Seconds: 1, Rate: rate, ServerCPU: 100, Done: 1000, Turns: 10,
		})
	}
	return row
}

func joined(rows ...benchfile.Runs) (all benchfile.Runs) {
	for _, row := range rows {
		all = append(all, row...)
	}
	return all
}

// A machine that is slower in one repetition, or in one row, does not change the factors: the reference is slower, too.
func TestTrendsAreRelative(t *testing.T) {
	two, last := runner.ScaleSustained+"2", runner.ScaleSustained+"32"
	all := joined(
		rates(two, reference, 1000, 2000, 1000), rates(last, reference, 2000, 4000, 1000),
		rates(two, "ours", 500, 1000, 500), rates(last, "ours", 1000, 2000, 500),
	)
	got := trendOf(all, runner.ScaleSustained, "ours")
	if !slices.Equal(got.times, []float64{1, 1, 1}) || got.noise != 2 || got.first != 500 || got.last != 1000 {
		t.Errorf("%+v", got)
	}
	ones := joined(all, rates(runner.ScaleOne+"2", "ours", 9), rates(runner.ScaleOne+"32", "ours", 3))
	if one := trendOf(ones, runner.ScaleOne, "ours"); len(one.times) != 1 || one.times[0] != 1.0/3 || one.noise != 2 {
		t.Errorf("without a reference in its rows: %+v", one)
	}
	disturbed := slices.Clone(all)
	disturbed[0].Failed = 1
	if got := trendOf(disturbed, runner.ScaleSustained, "ours"); len(got.times) != 2 {
		t.Errorf("the reference of a repetition was disturbed: %+v", got)
	}
}
