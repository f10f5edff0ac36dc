package benchfile

import (
	"math"
	"testing"
)

func TestJain(t *testing.T) {
	for _, c := range []struct {
		counts []int
		want   float64
	}{
		{nil, 0},
		{[]int{0, 0}, 0},
		{[]int{7, 7, 7, 7}, 1},
		{[]int{12, 0, 0, 0}, 0.25},
		{[]int{1, 2, 3}, 36.0 / (3 * 14)},
	} {
		if got := JainIndex(c.counts); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("JainIndex(%v) = %v, want %v", c.counts, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		sample []float64
		want   float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}, {[]float64{9, 1, 2, 4}, 3}} {
		if got := Median(c.sample); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.sample, got, c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	sample := []int{5, 1, 4, 2, 3}
	for q, want := range map[float64]int{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := Quantile(sample, q); got != want {
			t.Errorf("Quantile(%v, %v) = %d, want %d", sample, q, got, want)
		}
	}
	if sample[0] != 5 {
		t.Error("the sample was sorted in place")
	}
	if got := Quantile[int](nil, 0.5); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}
