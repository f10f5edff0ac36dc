package main

import (
	"fmt"
	"strings"

	"locklab/experiments"
	"locklab/experiments/claims"
	"locklab/experiments/steps"
	"locklab/lockstrategy/naive"
)

// withOrders finds an experiment that has locks of steps.
func withOrders(id string) (experiments.Experiment, error) {
	e, err := claims.Find(id)
	if err != nil {
		return e, misuse("%w", err)
	}
	if len(e.Interleavings) > 0 {
		return e, nil
	}
	var others []string
	for _, o := range claims.All() {
		if len(o.Interleavings) > 0 {
			others = append(others, o.ID)
		}
	}
	return e, misuse("%s has no lock that is a list of steps: there is nothing to order. These have: %s", e.ID, strings.Join(others, ", "))
}

// locksOf are the locks of an experiment, each once. Those that break come first.
func locksOf(e experiments.Experiment) (all []naive.Lock) {
	seen := make(map[string]bool)
	for _, expect := range []experiments.Expect{experiments.Sometimes, experiments.Never} {
		for _, o := range e.Interleavings {
			if o.Expect == expect && !seen[o.Lock.Name] {
				seen[o.Lock.Name] = true
				all = append(all, o.Lock)
			}
		}
	}
	return all
}

// lockOf finds a lock of an experiment by its name, or by a part of it that no other has; without one the first.
func lockOf(e experiments.Experiment, name string) (naive.Lock, error) {
	var found []naive.Lock
	for _, l := range locksOf(e) {
		if strings.EqualFold(l.Name, name) {
			return l, nil
		}
		if strings.Contains(strings.ToLower(l.Name), strings.ToLower(name)) {
			found = append(found, l)
		}
	}
	if len(found) == 1 || len(found) > 0 && name == "" {
		return found[0], nil
	}
	return naive.Lock{}, misuse("--lock %q is not one lock of %s; it has %s", name, e.ID, quoted(locksOf(e)))
}

func quoted(locks []naive.Lock) string {
	names := make([]string, len(locks))
	for i, l := range locks {
		names[i] = fmt.Sprintf("%q", l.Name)
	}
	return strings.Join(names, ", ")
}

// clientsOf checks a list of clients.
func clientsOf(clients string) error {
	if len(clients) < 2 || !strings.HasPrefix("ABC", clients) {
		return misuse("--clients is %q; allowed are AB and ABC", clients)
	}
	return nil
}

// stepCommand is what plays moves by hand.
func stepCommand(e experiments.Experiment, lock naive.Lock, clients string, moves []steps.Move) string {
	number, _, _ := strings.Cut(e.ID, "-")
	return fmt.Sprintf("%s lab step %s --lock %q --clients %s --moves %q", self(), number, lock.Name, clients, steps.Text(moves))
}
