// Package claims contains the experiments of the catalogue, one file for each. A file registers its experiment: to add one,
// add its file.
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

// register is called by each file for a variable of the package. It panics when the id has no group, or is registered twice.
func register(e experiments.Experiment) experiments.Experiment { //nolint:unparam // a variable needs a value
	if groupOf(e.ID) < 0 || slices.ContainsFunc(registered, func(other experiments.Experiment) bool { return other.ID == e.ID }) {
		panic("claims: two files register the id, or it has no group: " + e.ID)
	}
	l := &e.Lesson
	texts := []*string{&e.Claim, &e.Says, &e.How, &l.Question, &l.Predict, &l.Why, &l.Fix, &l.Limits, &l.Next}
	for i := range e.Errata {
		texts = append(texts, &e.Errata[i].What)
	}
	for _, text := range texts {
		*text = strings.Join(strings.Fields(*text), " ") // they may be written in several lines
	}
	registered = append(registered, e)
	return e
}

// groups are the headlines above the experiments. The first letter is that of the ids.
var groups = []string{
	"P · page views", "G · the order that drivers grab", "L · anatomy of a Redis lock", "F · faults of the servers", "D · locks in a database",
	"M · locks in Memcached", "R · the rate limit of calls to a supplier", "S · the shop", "C · a cache before a database",
}

// groupOf is the number of an experiment's group.
func groupOf(id string) int {
	return slices.IndexFunc(groups, func(g string) bool { return g[0] == id[0] })
}

// Group is the headline above an experiment.
func Group(id string) string { return groups[groupOf(id)] }

// All returns every experiment by its group, each in the order of its number.
func All() []experiments.Experiment {
	all := slices.Clone(registered)
	slices.SortFunc(all, func(a, b experiments.Experiment) int {
		return cmp.Or(cmp.Compare(groupOf(a.ID), groupOf(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Find returns the experiment with an id, which may be shortened to its number: L03. The error of an unknown id names the
// similar ones.
func Find(id string) (experiments.Experiment, error) {
	var similar []string
	for _, e := range All() {
		number, _, _ := strings.Cut(e.ID, "-")
		if strings.EqualFold(id, e.ID) || strings.EqualFold(id, number) {
			return e, nil
		}
		begin, _, _ := strings.Cut(id, "-")
		if distance(id, e.ID) <= 4 || distance(begin, number) <= 1 || strings.Contains(e.ID, strings.ToLower(id)) {
			similar = append(similar, e.ID)
		}
	}
	if len(similar) == 0 {
		return experiments.Experiment{}, fmt.Errorf("there is no experiment %q; app lab list shows all", id)
	}
	return experiments.Experiment{}, fmt.Errorf("there is no experiment %q; did you mean %s?", id, strings.Join(similar, ", "))
}

func distance(a, b string) int {
	return levenshtein.Distance(strings.ToLower(a), strings.ToLower(b), nil)
}
