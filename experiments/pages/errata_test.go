package pages

import (
	"regexp"
	"slices"
	"testing"

	"locklab/experiments/claims"
)

// Every erratum names exactly one article, and an experiment's is one of the experiment's articles.
func TestAnErratumNamesOneArticle(t *testing.T) {
	one := regexp.MustCompile(`^A[0-4]$`)
	for _, e := range errata {
		if !one.MatchString(e.Article) || e.Why == "" {
			t.Errorf("%q is not one article, or nothing says why no experiment shows it: %s", e.Article, e.What)
		}
	}
	for _, x := range claims.All() {
		articles := regexp.MustCompile(`A[0-4]`).FindAllString(x.Article, -1)
		for _, e := range x.Errata {
			if !one.MatchString(e.Article) || !slices.Contains(articles, e.Article) {
				t.Errorf("%s is about %s; its erratum names %q", x.ID, x.Article, e.Article)
			}
		}
	}
}
