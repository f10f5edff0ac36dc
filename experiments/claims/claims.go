// Package claims holds the experiments of the catalogue, each in a file of its own. A file registers its experiment,
// and that is all there is to adding one.
package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"locklab/experiments"
)

var registered []experiments.Experiment

// register is called by each file, for a variable of the package, before anything reads the list. An id is there once.
func register(e experiments.Experiment) experiments.Experiment { //nolint:unparam // a variable needs a value
	if slices.ContainsFunc(registered, func(other experiments.Experiment) bool { return other.ID == e.ID }) {
		panic("claims: two files register " + e.ID)
	}
	registered = append(registered, e)
	return e
}

// All returns every experiment: page views, orders, locks, faults, each in the order of its number.
func All() []experiments.Experiment {
	all := slices.Clone(registered)
	slices.SortFunc(all, func(a, b experiments.Experiment) int {
		return cmp.Or(cmp.Compare(strings.IndexByte(groups, a.ID[0]), strings.IndexByte(groups, b.ID[0])), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// groups are the first letters of the ids, in the catalogue's order.
const groups = "PGLFRSC"

// Group is what an experiment is about, for the headline above it.
func Group(id string) string {
	return map[byte]string{
		'P': "P · page views", 'G': "G · the order that is grabbed", 'L': "L · anatomy of a Redis lock", 'F': "F · faults of the servers",
		'R': "R · rate limit", 'S': "S · shop", 'C': "C · cache",
	}[id[0]]
}

// Find returns the experiment with an id, which may be shortened to its number: L03. An unknown id gets an error with
// those that are near.
func Find(id string) (experiments.Experiment, error) {
	var near []string
	for _, e := range All() {
		number, _, _ := strings.Cut(e.ID, "-")
		if strings.EqualFold(id, e.ID) || strings.EqualFold(id, number) {
			return e, nil
		}
		if levenshtein.Distance(strings.ToLower(id), strings.ToLower(e.ID), nil) <= 4 || similar(id, number) || strings.Contains(e.ID, strings.ToLower(id)) {
			near = append(near, e.ID)
		}
	}
	if len(near) == 0 {
		return experiments.Experiment{}, fmt.Errorf("there is no experiment %q; app lab list shows all", id)
	}
	return experiments.Experiment{}, fmt.Errorf("there is no experiment %q; did you mean %s?", id, strings.Join(near, ", "))
}

// similar compares the beginning of an id with a number.
func similar(id, number string) bool {
	begin, _, _ := strings.Cut(id, "-")
	return levenshtein.Distance(strings.ToUpper(begin), number, nil) <= 1
}
