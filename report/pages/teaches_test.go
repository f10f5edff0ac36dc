package pages

import (
	"testing"

	"locklab/experiments/claims"
)

// The index tells a reader where to start.
func TestTheIndexSaysWhereToStart(t *testing.T) {
	starts := 0
	for _, e := range claims.All() {
		if e.Start {
			starts++
		}
	}
	if starts == 0 || starts > 6 {
		t.Errorf("a reader is told to start at %d experiments", starts)
	}
}
