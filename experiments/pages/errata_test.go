package pages

import (
	"regexp"
	"slices"
	"testing"

	"locklab/experiments"
	"locklab/experiments/claims"
)

// An erratum has an experiment to come, or a reason. Once the experiment is there, it shows the erratum in its own words.
func TestErrataAreNotRepeated(t *testing.T) {
	for _, e := range errata {
		if (e.By == "") == (e.Why == "") {
			t.Errorf("%s: either an experiment or a reason: %+v", e.Article, e)
		}
		if shown, err := claims.Find(e.By); e.By != "" && err == nil {
			t.Errorf("%s is there: move the erratum of %s from errata.csv to its file", shown.ID, e.Article)
		}
	}
}

// Every erratum names exactly one article, and an experiment's is one of the experiment's articles.
func TestAnErratumNamesOneArticle(t *testing.T) {
	one := regexp.MustCompile(`^A[0-4]$`)
	for _, e := range errata {
		if !one.MatchString(e.Article) {
			t.Errorf("%q is not one article: %s", e.Article, e.What)
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

func TestAnErratumLeavesTheRestWhenItsExperimentComes(t *testing.T) {
	i := slices.IndexFunc(errata, func(e erratum) bool { return e.By != "" })
	if i < 0 {
		t.Fatal("no erratum waits for its experiment: the column of errata.csv is of no use any more")
	}
	x := experiments.Experiment{ID: errata[i].By, Errata: []experiments.Erratum{{Article: errata[i].Article, What: "The same."}}}
	left := others([]experiments.Experiment{x})
	if len(left) >= len(errata) || slices.ContainsFunc(left, func(e erratum) bool { return e.By == x.ID }) {
		t.Errorf("%d of %d are left", len(left), len(errata))
	}
}
