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

	newest int // of the runs: from here on they are of the newest
}

// final is the final value of a counter, and what it is without a loss. So runs with different users compare.
type final struct{ Value, Of int64 }

func (f final) part() float64 { return float64(f.Value) / float64(max(1, f.Of)) }

// Finals writes a plot of the final values of runs, the newest last, beside those that the article reports, and the same as a table.
// guesses are what people expected of the version guessed before the newest run.
func Finals(w io.Writer, runs []*burst.Results, guessed string, guesses []int64) error {
	var rows []finalsRow
	for _, v := range versions.All() {
		row := finalsRow{Name: v.Name + " · " + v.Title}
		for _, r := range runs {
			row.newest = len(row.Runs)
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
	return pages.ExecuteTemplate(w, "finals", map[string]any{"Plot": plotFinals(rows), "Rows": rows})
}

// plotFinals has a row for each version, from 0 to what the counter is without a loss.
func plotFinals(rows []finalsRow) *plot {
	const rowHeight = 46
	bottom := float64(len(rows) * rowHeight)
	p := &plot{
		Class: "chart finals", Width: 560, Height: bottom + 34, Name: "Final values",
		Says: "The final values of each version. The table below has them.", Caption: "The final value, in percent of what it is without a loss.",
		Keys: []plotKey{
			{"newest", circle(13, 7, 5), "the newest run"},
			{"earlier", circle(13, 7, 4.5), "an earlier run"},
			{"article", "M6 7l7-7 7 7-7 7z", "the value that the article reports"},
			{"guess", "M13 2v9", "a guess before the newest run"},
		},
	}
	x := axis{high: 1, from: 30, to: 530}
	var ticks []axisTick
	for percent := 0; percent <= 100; percent += 25 {
		ticks = append(ticks, axisTick{float64(percent) / 100, fmt.Sprintf("%d %%", percent)})
	}
	p.columns(x, axis{from: bottom, to: 6}, ticks)
	for i, row := range rows {
		y := float64((i+1)*rowHeight - 12)
		p.path("timeline", "M%v %vH%v", x.from, y, x.to)
		p.text("", x.from, y-12, row.Name)
		for _, f := range row.Guesses {
			p.path("guess", "M%v %vv9", tenth(x.at(f.part())), y)
		}
		for _, f := range row.Article {
			p.path("article", "M%v %vl7-7 7 7-7 7z", tenth(x.at(f.part())-7), y)
		}
		for _, f := range row.Runs[:row.newest] {
			p.dot("earlier", x.at(f.part()), y, 4.5)
		}
		for _, f := range row.Runs[row.newest:] {
			p.dot("newest", x.at(f.part()), y, 5)
		}
	}
	return p
}
