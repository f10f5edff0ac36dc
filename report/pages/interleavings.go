package pages

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/experiments"
	"locklab/experiments/steps"
)

// ErrContradicted means that interleavings violate and must not, or the other way round: there are no pages then.
var ErrContradicted = errors.New("pages: the interleavings of a lock are not what its experiment says")

// exploreInterleavings tries every interleaving of the experiments' locks. The result is sorted by the experiment's id.
func exploreInterleavings(ctx context.Context, all []experiments.Experiment) (map[string][]experiments.Explored, error) {
	const simultaneously = 2 // locks
	found := make(map[string][]experiments.Explored)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(simultaneously)
	for _, e := range all {
		mine := make([]experiments.Explored, len(e.Interleavings))
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
func contradicted(all []experiments.Experiment, found map[string][]experiments.Explored) (err error) {
	for _, e := range all {
		for _, x := range found[e.ID] {
			if x.Verdict != experiments.AsExpected {
				err = errors.Join(err, fmt.Errorf("%w: %s, %s: %s: expected is %s, and it is %s",
					ErrContradicted, e.ID, x.Of.Lock.Name, x.Of.Violation, x.Of.Expect, x.Found))
			}
		}
	}
	return err
}

// bounds says in words which clients there are and what may happen.
func bounds(b steps.Bounds) string {
	last := len(b.Clients) - 1
	words := []string{strings.Join(strings.Split(b.Clients[:last], ""), ", ") + " and " + b.Clients[last:]}
	for _, n := range []struct {
		count     int
		one, more string
	}{
		{b.Deaths, "one may die", "%d may die"},
		{b.Lost, "one reply to an acquire may be lost", "%d replies to an acquire may be lost"},
		{b.Expiry, "time may pass once until every expiry is over", "time may pass %d times until every expiry is over"},
	} {
		switch {
		case n.count == 1:
			words = append(words, n.one)
		case n.count > 1:
			words = append(words, fmt.Sprintf(n.more, n.count))
		}
	}
	return strings.Join(words, "; ")
}
