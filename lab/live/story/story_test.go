package story_test

import (
	"slices"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/live/story"
)

// The control of each scene is that of its experiment, and comes first. A scene shows a violation, and has one right answer to each question.
func TestEachSceneHasItsControlAndAViolation(t *testing.T) {
	all := lab.Catalogue(claims.All())
	for i, s := range story.Scenes {
		e, err := s.In(all)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := all.Find(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Own) > 0 {
			whole = e // its control has fewer users
		}
		right := 0
		for _, c := range s.Choices {
			if c.Wrong == "" {
				right++
			}
		}
		violates := slices.ContainsFunc(e.Variants, func(v lab.Variant) bool { return v.Expect == lab.Sometimes })
		if e.Control().Name != whole.Control().Name || e.Control().Expect != lab.Never || !violates || right != 1 || s.Lost >= len(s.After) {
			t.Errorf("scene %d: %+v", i+1, s)
		}
	}
}

// A name for people belongs to a variant that runs. A catalogue without the experiment, or without a variant, is an error.
func TestAScenesVariantsAreThoseOfItsExperiment(t *testing.T) {
	all := claims.All()
	for i, s := range story.Scenes {
		e, err := s.In(all)
		if err != nil {
			t.Fatal(err)
		}
		for name := range s.Called {
			if !slices.ContainsFunc(e.Variants, func(v lab.Variant) bool { return v.Name == name }) {
				t.Errorf("scene %d has a name for %q, which does not run", i+1, name)
			}
		}
		if _, err := s.In(nil); err == nil {
			t.Errorf("scene %d needs no experiment", i+1)
		}
		if _, is := s.Recorded(nil); is {
			t.Errorf("scene %d has a recorded run of no experiment", i+1)
		}
		s.Variants = append(slices.Clone(s.Variants), "none of them")
		if _, err := s.In(all); err == nil || !strings.Contains(err.Error(), "none of them") {
			t.Errorf("scene %d has any variant: %v", i+1, err)
		}
	}
}
