// Package stats is the arithmetic of the benchmark.
package stats

import (
	"cmp"
	"slices"
)

// Jain is Jain's index of fairness: 1 when all got the same, 1/n when one of n got everything; 0 of nothing.
func Jain(counts []int) float64 {
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

// Quantile of a sample, which need not be sorted; q = 0 is its least, 0.5 its (upper) median, 1 its greatest element. 0 of nothing.
func Quantile[T cmp.Ordered](sample []T, q float64) T {
	if len(sample) == 0 {
		var zero T
		return zero
	}
	sorted := slices.Sorted(slices.Values(sample))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
