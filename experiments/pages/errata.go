package pages

import (
	_ "embed"
	"encoding/csv"
	"slices"
	"strings"

	"locklab/experiments"
)

// erratum is a point in which an article errs, and which no experiment has shown yet.
type erratum struct {
	Article, What string
	By            string // the experiment of the catalogue that is to show it; empty: none can
	Why           string // none can
}

//go:embed errata.csv
var errataSource string

// errata are those of all articles, in the articles' order. An erratum that an experiment shows is in the experiment's file alone.
var errata = func() (all []erratum) {
	rows, err := csv.NewReader(strings.NewReader(errataSource)).ReadAll()
	if err != nil {
		panic(err) // it is embedded
	}
	for _, row := range rows[1:] {
		all = append(all, erratum{Article: row[0], What: row[1], By: row[2], Why: row[3]})
	}
	return all
}()

// others are the errata that no experiment of all shows.
func others(all []experiments.Experiment) (left []erratum) {
	for _, e := range errata {
		if slices.ContainsFunc(all, func(x experiments.Experiment) bool { return x.ID == e.By && len(x.Errata) > 0 }) {
			continue
		}
		if e.By != "" {
			e.Why = "not yet: " + e.By + " is to come"
		}
		left = append(left, e)
	}
	return left
}
