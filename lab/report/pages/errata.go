package pages

import (
	_ "embed"
	"encoding/csv"
	"strings"
)

// erratum is a point in which an article errs, and which no experiment can show.
type erratum struct {
	Article, What, Where string
	Why                  string // none can
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
		all = append(all, erratum{Article: row[0], What: row[1], Where: row[2], Why: row[3]})
	}
	return all
}()
