package scale

import (
	"fmt"
	"slices"
	"strconv"

	"locklab/internal/marked"
	"locklab/lab/report/benchfile"
	"locklab/loadtest/benchmark/runner"
)

// reference is the lock that is one load in all rows of a kind: all its waiters are in one process.
const reference = "local"

// trend is how a lock's rate differs between two rows of a kind, which differ in their processes.
type trend struct {
	first, last float64   // medians of the rates; 0: not measured
	times       []float64 // last / first in each repetition, relative to the reference where the kind has one
	noise       float64   // by which factor the reference itself differs between few and many processes; 0: not measured
}

// repetitions are the runs of each repetition.
func repetitions(all benchfile.Runs) (split []benchfile.Runs) {
	for _, r := range all {
		for r.Rep >= len(split) {
			split = append(split, nil)
		}
		split[r.Rep] = append(split[r.Rep], r)
	}
	return split
}

// trendOf compares inside each repetition, because the speed of the machine wanders from one to the next.
func trendOf(all benchfile.Runs, kind, lock string) (t trend) {
	first, last := kind+strconv.Itoa(few), kind+strconv.Itoa(many)
	t.first, _ = all.Median(first, lock, benchfile.Rate)
	t.last, _ = all.Median(last, lock, benchfile.Rate)
	has := func(workload string) bool { return len(all.Row(workload, reference)) > 0 }
	relative := lock != reference && (has(first) || has(last))
	for _, runs := range repetitions(all) {
		figure := func(workload string) (value float64) {
			if relative {
				value, _ = runs.Ratio(workload, lock, reference, benchfile.Rate)
			} else {
				value, _ = runs.Median(workload, lock, benchfile.Rate)
			}
			return value
		}
		if a, b := figure(first), figure(last); a > 0 && b > 0 {
			t.times = append(t.times, b/a)
		}
	}
	t.noise = noise(all, kind, lock)
	return t
}

// noise is the median factor between two rows of one load, in one repetition. A kind without the reference has the noise of another.
func noise(all benchfile.Runs, kind, lock string) float64 {
	if lock == reference {
		return 0
	}
	if kind == runner.ScaleOne {
		kind = runner.ScaleSustained
	}
	var factors []float64
	for _, times := range trendOf(all, kind, reference).times {
		factors = append(factors, max(times, 1/times))
	}
	return benchfile.Median(factors)
}

func (t trend) missing() bool { return t.first == 0 || t.last == 0 || len(t.times) == 0 }

// changes is the table of what happens between few and many processes.
func changes(all benchfile.Runs) string {
	var rows [][]string
	for _, load := range []struct{ name, kind string }{
		{"burst", runner.ScaleBurst}, {"sustained", runner.ScaleSustained}, {"one waiter in each instance", runner.ScaleOne},
	} {
		for _, lock := range []string{"ours", "redlock", "v7"} {
			t := trendOf(all, load.kind, lock)
			if t.missing() {
				continue
			}
			rows = append(rows, []string{
				load.name, lock, round(t.first), round(t.last), fmt.Sprintf("%s / **%s** / %s", benchfile.Digits(slices.Min(t.times)),
					benchfile.Digits(benchfile.Median(t.times)), benchfile.Digits(slices.Max(t.times))), benchfile.Digits(t.noise),
			})
		}
	}
	return marked.Table(2, []string{
		"load", "lock", fmt.Sprintf("median with %d", few), fmt.Sprintf("with %d", many), "times as much, min / **med** / max",
		"`local` differs by a factor of",
	}, rows)
}
