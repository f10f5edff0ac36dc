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

// A figure has three significant digits, and at most two after the point.
func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0.00", 1.234: "1.23", 9.99: "9.99", 10: "10.0", 12.34: "12.3", 100: "100", 1234.5: "1234"} {
		if got := Digits(x); got != want {
			t.Errorf("%v is shown as %s, want %s", x, got, want)
		}
	}
}

// Runs that were disturbed do not count: their waiters failed, or updates were lost. Only those of one repetition compare.
func TestCleanRuns(t *testing.T) {
	run := func(lock string, rep int, rate float64) Run {
		return Run{Workload: "burst", Lock: lock, Rep: rep, Rate: rate, Seconds: 1}
	}
	failed, lost, broken := run("ours", 3, 900), run("ours", 4, 900), run("ours", 5, 900)
	failed.Failed, lost.Lost, broken.Error = 1, 1, "deadline"
	for name, c := range map[string]struct {
		run   Run
		clean bool
	}{
		"whole": {run("ours", 1, 1), true}, "failed": {failed, false}, "lost": {lost, false}, "an error": {broken, false},
	} {
		if c.run.Clean() != c.clean {
			t.Errorf("%s: clean %v", name, c.run.Clean())
		}
	}
	all := Runs{
		run("ours", 1, 10), run("ours", 2, 30), failed, lost, broken, run("limit", 1, 5), run("limit", 2, 10), run("limit", 3, 1),
		run("idle", 1, 0), run("late", 9, 4),
	}
	if m, found := all.Median("burst", "ours", Rate); m != 20 || !found {
		t.Errorf("the median is %v, %v", m, found)
	}
	if _, found := all.Median("burst", "none", Rate); found {
		t.Error("a lock without runs has a median")
	}
	for lock, want := range map[string]float64{"limit": 2.5, "idle": 0, "late": 0} {
		if r, found := all.Ratio("burst", "ours", lock, Rate); r != want || found != (want > 0) {
			t.Errorf("ours / %s is %v, %v", lock, r, found)
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
