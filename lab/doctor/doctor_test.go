package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestResultsComeInTheOrderOfTheChecks(t *testing.T) {
	first, done := make(chan struct{}), make(chan struct{})
	results := Run(t.Context(), []Check{
		{"a", func(context.Context) []Result { <-first; defer close(done); return ok("1") }},
		{"b", func(context.Context) []Result {
			close(first)
			<-done
			return []Result{{OK: true, Found: "2"}, {Name: "b 3", Found: "3", Do: "4"}}
		}},
	})
	wanted := []Result{{"a", "a", true, "1", ""}, {"b", "b", true, "2", ""}, {"b", "b 3", false, "3", "4"}}
	if !slices.Equal(results, wanted) || Problems(results) != 1 {
		t.Errorf("%+v", results)
	}
}

func TestWithoutFilesTheirChecksAreLeftOutAndNamed(t *testing.T) {
	lab := Lab{Dir: t.TempDir(), Err: errors.New("there is no docker-compose.yml here")}
	var left []string
	for _, check := range Checks(lab) {
		left = append(left, check.Name)
	}
	got := answering(lab, nil).files(t.Context())
	want(t, got, false, "there is no docker-compose.yml", "in the checkout", "--dir")
	for _, name := range Names() {
		if named := strings.Contains(got[0].Do, name); named == slices.Contains(left, name) {
			t.Errorf("%s: left out %v, named %v", name, !named, named)
		}
	}
}
