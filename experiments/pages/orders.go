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

// ErrContradicted means that the orders of a lock break and must not, or the other way round: there are no pages then.
var ErrContradicted = errors.New("pages: the orders of a lock are not what its experiment says")

// atOnce is how many locks are explored at a time.
const atOnce = 2

// explored tries every order of every experiment's locks, and returns what was found by the experiment's id.
func explored(ctx context.Context, all []experiments.Experiment) (map[string][]experiments.Explored, error) {
	found := make(map[string][]experiments.Explored)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, e := range all {
		mine := make([]experiments.Explored, len(e.Interleavings))
		found[e.ID] = mine
		for i, o := range e.Interleavings {
			group.Go(func() (err error) {
				if mine[i], err = o.Explore(ctx); err != nil {
					return fmt.Errorf("every order of %s, %s: %w", e.ID, o.Lock.Name, err)
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

// contradicted says of which locks something else is expected.
func contradicted(all []experiments.Experiment, found map[string][]experiments.Explored) (err error) {
	for _, e := range all {
		for _, x := range found[e.ID] {
			if x.Verdict != experiments.AsExpected {
				err = errors.Join(err, fmt.Errorf("%w: %s, %s: %s: expected is %s, and it is %s", ErrContradicted, e.ID, x.Of.Lock.Name, x.Of.Violation, x.Of.Expect, x.Seen()))
			}
		}
	}
	return err
}

// bounds says who is there and what may happen, in words.
func bounds(b steps.Bounds) string {
	last := len(b.Clients) - 1
	words := []string{strings.Join(strings.Split(b.Clients[:last], ""), ", ") + " and " + b.Clients[last:]}
	for _, n := range []struct {
		count     int
		one, more string
	}{
		{b.Deaths, "one may die", "%d may die"},
		{b.Lost, "one answer to an acquire may be lost", "%d answers to an acquire may be lost"},
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
