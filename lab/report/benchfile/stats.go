package benchfile

import (
	"cmp"
	"slices"
	"strconv"
)

// JainIndex is Jain's index of fairness: 1 when all got the same, 1/n when one of n got everything; 0 of nothing.
func JainIndex(counts []int) float64 {
	var sum, squares float64
	for _, c := range counts {
		sum += float64(c)
		squares += float64(c) * float64(c)
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(counts)) * squares)
}

// Median of a sample, which need not be sorted: of an even number the mean of the two in the middle. 0 of nothing.
func Median(sample []float64) float64 {
	n := len(sample)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(sample))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// Quantile of a sample, which need not be sorted; q = 0 is its least, 1 its greatest element. 0 of nothing.
func Quantile[T cmp.Ordered](sample []T, q float64) T {
	if len(sample) == 0 {
		var zero T
		return zero
	}
	sorted := slices.Sorted(slices.Values(sample))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// Digits is a figure as the pages show it: with three significant digits, and at most two after the point.
func Digits(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// Figure is a number of a run.
type Figure func(Run) float64

// The figures that pages show.
var (
	Seconds       Figure = func(r Run) float64 { return r.Seconds }
	Rate          Figure = func(r Run) float64 { return r.Rate }
	Jain          Figure = func(r Run) float64 { return r.Jain }
	JainProcesses Figure = func(r Run) float64 { return r.JainProcesses }
	WaitP50       Figure = func(r Run) float64 { return r.WaitP50 }
	WaitP99       Figure = func(r Run) float64 { return r.WaitP99 }
	WaitMax       Figure = func(r Run) float64 { return r.WaitMax }
	Commands      Figure = func(r Run) float64 { return r.Commands }
	Reads         Figure = func(r Run) float64 { return r.Reads }
	ServerCPU     Figure = func(r Run) float64 { return r.ServerCPU }
)

// Runs of one benchmark.
type Runs []Run

// Row returns the runs of a lock under a workload.
func (all Runs) Row(workload, lock string) Runs {
	var row Runs
	for _, r := range all {
		if r.Workload == workload && r.Lock == lock {
			row = append(row, r)
		}
	}
	return row
}

// Figures are those of the runs that came to a result; a run that was interrupted has none.
func (all Runs) Figures(of Figure) []float64 {
	var sample []float64
	for _, r := range all {
		if r.Seconds > 0 {
			sample = append(sample, of(r))
		}
	}
	return sample
}

// Median is that of a row's clean runs; false: there are none.
func (all Runs) Median(workload, lock string, of Figure) (float64, bool) {
	clean := slices.DeleteFunc(all.Row(workload, lock), func(r Run) bool { return !r.Clean() }).Figures(of)
	return Median(clean), len(clean) > 0
}

// Ratio is the median of a/b over the repetitions in which both were clean: a disturbance of one disturbed, more or less, the other.
func (all Runs) Ratio(workload, a, b string, of Figure) (float64, bool) {
	var ratios []float64
	for _, x := range all.Row(workload, a) {
		for _, y := range all.Row(workload, b) {
			if x.Rep == y.Rep && x.Clean() && y.Clean() && of(y) != 0 {
				ratios = append(ratios, of(x)/of(y))
			}
		}
	}
	return Median(ratios), len(ratios) > 0
}

// Clean reports whether all waiters were served and no update was lost.
func (r Run) Clean() bool { return r.Failed == 0 && r.Lost == 0 && r.Error == "" }
