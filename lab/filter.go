package lab

import (
	"slices"
	"strings"
)

// Levels are the names of the levels.
var Levels = []string{Basic.String(), Medium.String(), Advanced.String()}

// Filter keeps experiments of a kind. An empty field keeps all.
type Filter struct {
	Text    string // words that are all in the id, the title or the question
	Article string // as A2
	Level   string // its name
	Anomaly string
	Quick   bool // those that are not slow
}

// Of returns the experiments that are kept.
func (f Filter) Of(c Catalogue) []Experiment {
	return slices.DeleteFunc(slices.Clone(c), func(e Experiment) bool {
		return f.Quick && e.Slow || f.Article != "" && !slices.Contains(e.Articles, f.Article) ||
			f.Level != "" && e.Level.String() != f.Level || f.Anomaly != "" && e.Anomaly != f.Anomaly || !e.has(f.Text)
	})
}

// has reports whether the id, the title and the question have every word of a text.
func (e Experiment) has(text string) bool {
	all := strings.ToLower(e.ID + " " + e.Title + " " + e.Question)
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// Anomalies are the kinds of failure in the catalogue, sorted.
func (c Catalogue) Anomalies() (all []string) {
	for _, e := range c {
		if e.Anomaly != "" && !slices.Contains(all, e.Anomaly) {
			all = append(all, e.Anomaly)
		}
	}
	slices.Sort(all)
	return all
}
