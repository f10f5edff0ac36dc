package pages

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"locklab/lab"
)

// ErrContradicted means that interleavings violate and must not, or the other way round: there are no pages then.
var ErrContradicted = errors.New("pages: the interleavings of a lock are not what its experiment says")

// exploreInterleavings tries every interleaving of the experiments' locks. The result is sorted by the experiment's id.
func exploreInterleavings(ctx context.Context, all []lab.Experiment) (map[string][]lab.Explored, error) {
	const simultaneously = 2 // locks
	found := make(map[string][]lab.Explored)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(simultaneously)
	for _, e := range all {
		mine := make([]lab.Explored, len(e.Interleavings))
		found[e.ID] = mine
		for i, lock := range e.Interleavings {
			group.Go(func() (err error) {
				if mine[i], err = lock.Explore(ctx); err != nil {
					return fmt.Errorf("the interleavings of %s, %s: %w", e.ID, lock.Lock.Name, err)
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return found, contradicted(all, found)
}

// contradicted names every lock of which something else is expected.
func contradicted(all []lab.Experiment, found map[string][]lab.Explored) (err error) {
	for _, e := range all {
		for _, x := range found[e.ID] {
			if x.Verdict != lab.AsExpected {
				err = errors.Join(err, fmt.Errorf("%w: %s, %s: %s: expected is %s, and it is %s",
					ErrContradicted, e.ID, x.Of.Lock.Name, x.Of.Violation, x.Of.Expect, x.Found))
			}
		}
	}
	return err
}
