package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLinesComeInTheOrderOfTheChecks(t *testing.T) {
	first, done := make(chan struct{}), make(chan struct{})
	lines := Run(t.Context(), []Check{
		{"a", func(context.Context) []Result { <-first; defer close(done); return ok("1") }},
		{"b", func(context.Context) []Result {
			close(first)
			<-done
			return []Result{{OK: true, Found: "2"}, {Name: "b 3", Found: "3", Do: "4"}}
		}},
	})
	wanted := []Line{{"a", "a", true, "1", ""}, {"b", "b", true, "2", ""}, {"b", "b 3", false, "3", "4"}}
	if !slices.Equal(lines, wanted) || Problems(lines) != 1 {
		t.Errorf("%+v", lines)
	}
	text := Text(lines)
	for _, line := range []string{"ok       a    1\n", "problem  b 3  3\n         → 4\n", "\n1 problem.\n"} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
}

// Time is fake in a bubble: the check hangs for as long as the doctor waits, and no second is lost.
func TestACheckThatHangsIsAProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		lines := runWithin(t.Context(), []Check{{"disk", func(context.Context) []Result { <-stuck; return nil }}}, 10*time.Second)
		close(stuck)
		if len(lines) != 1 || lines[0].OK || lines[0].Found != "the check gave no answer in 10 s" || lines[0].Do == "" {
			t.Errorf("%+v", lines)
		}
	})
}

func TestWithoutFilesTheirChecksAreLeftOutAndSaidToBe(t *testing.T) {
	lab := Lab{Dir: t.TempDir(), Err: errors.New("there is no docker-compose.yml here")}
	var left []string
	for _, check := range Checks(lab) {
		left = append(left, check.Name)
	}
	m := machine{lab, nil}
	got := m.files(t.Context())
	want(t, got, false, "there is no docker-compose.yml", "in the checkout", "--dir")
	for _, name := range Names() {
		if said := strings.Contains(got[0].Do, name); said == slices.Contains(left, name) {
			t.Errorf("%s: left out %v, said to be %v", name, !said, said)
		}
	}
}
