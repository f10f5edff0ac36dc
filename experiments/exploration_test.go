package experiments_test

import (
	"slices"
	"testing"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/experiments/steps"
)

// A violation that must not happen is unexpected, and the worst verdict is the exploration's.
func TestAnExplorationIsJudged(t *testing.T) {
	e, err := claims.Find("L03")
	if err != nil {
		t.Fatal(err)
	}
	e.Interleavings = slices.Clone(e.Interleavings[len(e.Interleavings)-1:])
	e.Interleavings[0].Expect = experiments.Never // although it violates
	x, err := e.ExploreAll(t.Context(), func(b steps.Bounds) steps.Bounds { return b }, "app", func(string) {})
	if err != nil || x.Verdict == nil || *x.Verdict != experiments.Unexpected || *x.Locks[0].Verdict != experiments.Unexpected {
		t.Errorf("%+v, %v", x, err)
	}
}
