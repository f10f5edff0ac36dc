package experiments

import (
	"context"
	"fmt"

	"locklab/experiments/steps"
)

// Explored is what every order of a lock's steps shows.
type Explored struct {
	Of      Interleavings
	Found   steps.Found
	Verdict Verdict // on what is expected of them
}

// Explore tries every order of o.
func (o Interleavings) Explore(ctx context.Context) (Explored, error) {
	f, err := steps.Explore(ctx, o.Lock, o.Bounds, o.Violation)
	if err != nil {
		return Explored{}, err
	}
	return Explored{o, f, Judge(o.Expect, Outcome{Trials: 1, Violations: f.Violating.Sign()})}, nil
}

// Seen is how many orders there are and how many break.
func (x Explored) Seen() string {
	if x.Found.Violating.Sign() == 0 {
		return fmt.Sprintf("held in all %s orders", x.Found.Interleavings)
	}
	return fmt.Sprintf("broken in %s of %s", x.Found.Violating, x.Found.Interleavings)
}
