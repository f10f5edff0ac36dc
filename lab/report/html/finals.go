package html

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"locklab/lab/burst"
	"locklab/versions"
)

// finalsRow has the final values of a version.
type finalsRow struct {
	Name                   string
	Runs, Article, Guesses []final

	earlier int // runs before the newest one
}

// Earlier are the runs before the newest one.
func (r finalsRow) Earlier() []final { return r.Runs[:r.earlier] }

// Newest is the newest run, if it has the version.
func (r finalsRow) Newest() []final { return r.Runs[r.earlier:] }

// final is the final value of a counter, and what it is without a loss. So runs with different users compare.
type final struct{ Value, Of int64 }

// Percent is its place between 0 and what it is without a loss.
func (f final) Percent() string {
	return fmt.Sprintf("%.1f%%", min(100, 100*float64(f.Value)/float64(max(1, f.Of))))
}

// Class is whether views are missing.
func (f final) Class() string {
	if f.Value < f.Of {
		return "lost"
	}
	return "good"
}

// Finals writes the final values of runs, the newest last, beside those that the article reports: each on a line from 0 to what the counter
// is without a loss, and as a table. guesses are what people expected of the version guessed before the newest run.
func Finals(w io.Writer, runs []*burst.Results, guessed string, guesses []int64) error {
	var rows []finalsRow
	for _, v := range versions.All() {
		row := finalsRow{Name: v.Name + " · " + v.Title}
		for _, r := range runs {
			row.earlier = len(row.Runs)
			for _, views := range r.Pageview {
				if views.Version == v.Name {
					row.Runs = append(row.Runs, final{views.Final, int64(r.Users)})
				}
			}
		}
		if row.Runs == nil {
			continue
		}
		if n, err := strconv.ParseInt(v.ArticleValue, 10, 64); err == nil {
			row.Article = []final{{n, versions.ArticleUsers}}
		}
		for _, n := range slices.Sorted(slices.Values(guesses)) {
			if v.Name == guessed {
				row.Guesses = append(row.Guesses, final{n, int64(runs[len(runs)-1].Users)})
			}
		}
		rows = append(rows, row)
	}
	return pages().ExecuteTemplate(w, "finals", rows)
}
