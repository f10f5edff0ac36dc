package experiments

import (
	"context"

	"locklab/experiments/steps"
)

// Explored is what every interleaving of a lock's steps shows.
type Explored struct {
	Of      Interleavings
	Found   steps.Found
	Verdict Verdict // on what is expected of them
}

// Explore tries every interleaving.
func (i Interleavings) Explore(ctx context.Context) (Explored, error) {
	f, err := steps.Explore(ctx, i.Lock, i.Bounds, i.Violation)
	if err != nil {
		return Explored{}, err
	}
	return Explored{i, f, Judge(i.Expect, Outcome{Trials: 1, Violations: f.Violating.Sign()})}, nil
}
