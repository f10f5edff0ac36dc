package story_test

import (
	"slices"
	"testing"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/live/story"
)

// The control of each scene is that of its experiment. A scene shows a violation, has one right answer to each question, and a name for
// people only for variants that run. A catalogue without the experiment is an error.
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
		for name := range s.Called {
			if !slices.ContainsFunc(e.Variants, func(v lab.Variant) bool { return v.Name == name }) {
				t.Errorf("scene %d has a name for %q, which does not run", i+1, name)
			}
		}
		if _, err := s.In(nil); err == nil {
			t.Errorf("scene %d needs no experiment", i+1)
		}
	}
}
