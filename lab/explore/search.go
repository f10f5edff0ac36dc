package explore

import (
	"context"
	"slices"

	"locklab/lockstrategy/articlelock"
)

// Search is a violation that is looked for in every interleaving within bounds.
type Search struct {
	Bounds    Bounds    `json:"bounds"`
	Violation Violation `json:"violation"`
	Expected  bool      `json:"expected"` // it happens; otherwise it never does
}

// Searched is what a search has found.
type Searched struct {
	Search
	Found Found
}

// Shortest looks for the shortest interleaving in which a lock violates. It ends with the first search that finds one: that is the last of
// searched.
func Shortest(ctx context.Context, lock articlelock.Lock, searches []Search) (searched []Searched, err error) {
	for _, s := range searches {
		found, err := Explore(ctx, lock, s.Bounds, s.Violation)
		if err != nil {
			return nil, err
		}
		if searched = append(searched, Searched{s, found}); found.Counterexample != nil {
			return searched, nil
		}
	}
	return searched, nil
}

// Goal is what a person can look for in the moves of a lock: the violations that are expected. Without one, impossible is true, and
// goal has those that must not happen.
func Goal(searches []Search) (goal []Violation, impossible bool) {
	impossible = len(searches) > 0 && !slices.ContainsFunc(searches, func(s Search) bool { return s.Expected })
	for _, s := range searches {
		if s.Expected != impossible && !slices.Contains(goal, s.Violation) {
			goal = append(goal, s.Violation)
		}
	}
	return goal, impossible
}

// Lock finds a lock by its name.
func Lock(name string) (lock articlelock.Lock, known bool) {
	all := append(slices.Clone(articlelock.All), V3)
	at := slices.IndexFunc(all, func(l articlelock.Lock) bool { return l.Name == name })
	if at < 0 {
		return lock, false
	}
	return all[at], true
}
