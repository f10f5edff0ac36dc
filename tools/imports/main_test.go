package main

import (
	"strings"
	"testing"

	"locklab/internal/marked"
	"locklab/lab/testenv"
)

// Two groups that import each other, directly or through a third, are an error that names both ends of the import that points up.
func TestACircleIsFound(t *testing.T) {
	packages := []pkg{
		{ImportPath: "locklab/lab/report/html", Imports: []string{"strings", "locklab/lab/claims"}},
		{ImportPath: "locklab/lab/claims", Imports: []string{"locklab/lab/claims/anatomy"}},
		{ImportPath: "locklab/lab/claims/anatomy", Imports: []string{"locklab/lab"}},
		{ImportPath: "locklab/lab"},
	}
	if _, err := graphOf(packages); err != nil {
		t.Fatalf("without a circle: %v", err)
	}
	packages[3].Imports = []string{"locklab/lab/report/outcome"}
	_, err := graphOf(packages)
	if err == nil || !strings.Contains(err.Error(), "lab/report") || !strings.Contains(err.Error(), "locklab/lab imports") {
		t.Errorf("with a circle: %v", err)
	}
	if _, err := graphOf([]pkg{{ImportPath: "locklab/new"}}); err == nil {
		t.Error("a package without a group is no error")
	}
}

// This repository has no circle, and a group for each package.
func TestGroupsOfThisRepository(t *testing.T) { graphOfThisRepository(t) }

func TestPictureIsCurrent(t *testing.T) {
	testenv.Check(t, testenv.Pages)
	picture := graphOfThisRepository(t).reduce().picture()
	if stale, err := marked.Stale(page, map[string]string{"imports": picture}); err != nil || len(stale) > 0 {
		t.Errorf("%v, %v: run make imports", stale, err)
	}
}

func graphOfThisRepository(t *testing.T) graph {
	t.Chdir("../..")
	packages, err := list()
	if err != nil {
		t.Fatal(err)
	}
	g, err := graphOf(packages)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
