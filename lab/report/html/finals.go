package html

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"locklab/lab/burst"
	"locklab/versions"
)

// finals is a plot of the final values of bursts: a row for each version, from 0 to what the counter is without a loss.
type finals struct {
	chart
	Rows   []finalsRow
	XTicks []tick
	Says   string
}

// finalsRow is a version.
type finalsRow struct {
	Name                   string
	Y                      int
	Earlier, Newest        []final // runs
	Runs, Article, Guesses []final
}

// final is the final value of a counter, and what it is without a loss. So runs with different users compare.
type final struct{ Value, Of int64 }

// X is where it is drawn.
func (f final) X() int {
	return finalsLeft + int((finalsRight-finalsLeft)*max(0, min(f.Value, f.Of))/max(1, f.Of))
}

func (f final) percent() string { return fmt.Sprintf("%d %%", f.Value*100/max(1, f.Of)) }

const (
	finalsHeight = 46 // of a row
	finalsLeft   = 30
	finalsRight  = 530
)

// Finals writes a plot of the final values of runs, the newest last, beside those that the article reports, and the same as a table.
// guesses are what people expected of the version guessed before the newest run.
func Finals(w io.Writer, runs []*burst.Results, guessed string, guesses []int64) error {
	p := finals{chart: chart{Width: 560, Left: finalsLeft, Right: finalsRight}}
	for _, v := range versions.All() {
		row := finalsRow{Name: v.Name + " · " + v.Title, Y: (len(p.Rows)+1)*finalsHeight - 12}
		for i, r := range runs {
			row.add(r, v.Name, i == len(runs)-1)
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
		p.Rows, p.Says = append(p.Rows, row), p.Says+row.says()
	}
	p.Bottom = len(p.Rows) * finalsHeight
	p.Height = p.Bottom + 34
	for percent := int64(0); percent <= 100; percent += 25 {
		p.XTicks = append(p.XTicks, tick{final{percent, 100}.X(), final{percent, 100}.percent()})
	}
	return pages.ExecuteTemplate(w, "finals", p)
}

// add adds what a run has of a version.
func (row *finalsRow) add(r *burst.Results, version string, newest bool) {
	for _, views := range r.Pageview {
		if views.Version != version {
			continue
		}
		f := final{views.Final, int64(r.Users)}
		if row.Runs = append(row.Runs, f); newest {
			row.Newest = append(row.Newest, f)
		} else {
			row.Earlier = append(row.Earlier, f)
		}
	}
}

func (row *finalsRow) says() string {
	all := []string{spread(row.Runs, "run"), spread(row.Article, "value of the article"), spread(row.Guesses, "guess")}
	all = slices.DeleteFunc(all, func(text string) bool { return text == "" })
	return row.Name + ": " + strings.Join(all, ", ") + ". "
}

// spread says how many values there are, and the lowest and the highest.
func spread(all []final, what string) string {
	if len(all) == 0 {
		return ""
	}
	compare := func(a, b final) int { return cmp.Compare(a.Value*b.Of, b.Value*a.Of) }
	low, high := slices.MinFunc(all, compare).percent(), slices.MaxFunc(all, compare).percent()
	if low != high {
		low += " to " + high
	}
	return fmt.Sprintf("%d × %s at %s", len(all), what, low)
}
