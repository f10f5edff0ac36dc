package pages

import (
	"regexp"
	"slices"
	"testing"

	"locklab/lab/claims"
)

// Every erratum names exactly one article and the place in it, in some of its words. An experiment's is one of the experiment's articles.
func TestAnErratumNamesOneArticle(t *testing.T) {
	one, quoted := regexp.MustCompile(`^A[0-4]$`), regexp.MustCompile("`[^`]+`")
	for _, e := range errata {
		if !one.MatchString(e.Article) || e.Why == "" || !quoted.MatchString(e.Where) {
			t.Errorf("%q is not one article, or nothing says where it stands, or why no experiment shows it: %s", e.Article, e.What)
		}
	}
	for _, x := range claims.All() {
		for _, e := range x.Errata {
			if !one.MatchString(e.Article) || !slices.Contains(x.Articles, e.Article) || !quoted.MatchString(e.Where) {
				t.Errorf("%s is about %s; its erratum names %q, at %q", x.ID, x.Articles, e.Article, e.Where)
			}
		}
	}
}
