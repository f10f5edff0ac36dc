package scale

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"locklab/internal/benchfile"
	"locklab/internal/marked"
	"locklab/loadtest/benchmark/runner"
)

// near is by which factor rates may differ that count as equal.
const near = 1.15

// reference is the lock that is one load in all rows of a kind: all its waiters are in one process.
const reference = "local"

// trend is how a lock's rate differs between two rows of a kind, which differ in their processes.
type trend struct {
	first, last float64   // medians of the rates; 0: not measured
	times       []float64 // last / first in each repetition, relative to the reference where the kind has one
	noise       float64   // by which factor the reference itself differs between few and many processes; 0: not measured
}

// The results of a trend. The rate …
const (
	rises   = "rises"
	falls   = "falls"
	same    = "stays the same"
	unclear = "shows no clear change"
)

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
func trendOf(all benchfile.Runs, kind, lock string, from, to int) (t trend) {
	first, last := kind+strconv.Itoa(from), kind+strconv.Itoa(to)
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
	for _, times := range trendOf(all, kind, reference, few, many).times {
		factors = append(factors, max(times, 1/times))
	}
	return benchfile.Median(factors)
}

func (t trend) missing() bool { return t.first == 0 || t.last == 0 || len(t.times) == 0 }

// word chooses. A change is clear when each repetition has it, the medians of the rates have it, and the median is beyond the noise. Rates
// are equal when they are near in each repetition. All else is not clear.
func (t trend) word() string {
	middle := benchfile.Median(t.times)
	beyond := t.noise > 0 && max(middle, 1/middle) > max(t.noise, near)
	least, most := slices.Min(t.times), slices.Max(t.times)
	switch {
	case beyond && least > 1 && t.last > t.first:
		return rises
	case beyond && most < 1 && t.last < t.first:
		return falls
	case least >= 1/near && most <= near && math.Abs(math.Log(t.last/t.first)) <= math.Log(near):
		return same
	}
	return unclear
}

// between names the row of the highest or the lowest rate if it is clearly outside of both ends; "": there is none.
func between(all benchfile.Runs, kind, lock string) string {
	best, text := 1.0, ""
	for _, n := range runner.ScaleProcesses {
		if n == few || n == many {
			continue
		}
		up, down := trendOf(all, kind, lock, few, n), trendOf(all, kind, lock, n, many)
		if up.missing() || down.missing() {
			continue
		}
		side := map[[2]string]string{{rises, falls}: "highest", {falls, rises}: "lowest"}[[2]string{up.word(), down.word()}]
		if far := max(up.last/up.first, up.first/up.last); side != "" && far > best {
			best, text = far, fmt.Sprintf("is %s with %d: %s", side, n, round(up.last))
		}
	}
	return text
}

// changes is the table of what happens between few and many processes.
func changes(all benchfile.Runs) string {
	var rows [][]string
	for _, load := range []struct{ name, kind string }{
		{"burst", runner.ScaleBurst}, {"sustained", runner.ScaleSustained}, {"one waiter in each instance", runner.ScaleOne},
	} {
		for _, lock := range []string{"ours", "redlock", "v7"} {
			t := trendOf(all, load.kind, lock, few, many)
			if t.missing() {
				continue
			}
			result := t.word()
			if text := between(all, load.kind, lock); text != "" {
				result += ", and " + text
			}
			rows = append(rows, []string{
				load.name, lock, round(t.first), round(t.last), fmt.Sprintf("%s / **%s** / %s", benchfile.Digits(slices.Min(t.times)),
					benchfile.Digits(benchfile.Median(t.times)), benchfile.Digits(slices.Max(t.times))), benchfile.Digits(t.noise), result,
			})
		}
	}
	return marked.Table(2, []string{
		"load", "lock", fmt.Sprintf("median with %d", few), fmt.Sprintf("with %d", many), "times as much, min / **med** / max",
		"`local` differs by a factor of", "the rate",
	}, rows)
}

// wander is what the runs of one load reach, and by which factor they differ. Most is 0 where nothing was measured.
type wander struct{ Least, Most, Factor float64 }

func wanders(all benchfile.Runs) (w wander) {
	var rates []float64
	for _, n := range runner.ScaleProcesses {
		rates = append(rates, all.Row(runner.ScaleSustained+strconv.Itoa(n), reference).Figures(benchfile.Rate)...)
	}
	w.Least, w.Most = benchfile.Quantile(rates, 0), benchfile.Quantile(rates, 1)
	if w.Least > 0 {
		w.Factor = w.Most / w.Least
	}
	return w
}
