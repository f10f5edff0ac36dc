package story_test

import (
	"slices"
	"strings"
	"testing"

	"locklab/lab"
	"locklab/lab/claims"
	"locklab/lab/live/story"
)

// The right answers are written here once more: that of each question, and that of the question after the run.
func TestWhatIsRight(t *testing.T) {
	want := [][2]string{
		{"Clearly fewer than 20.", "Views: several requests wrote the same number."},
		{"Yes, the two copies together still lose some.", "Views, where both copies wrote the same number."},
		{"Never, unless somebody deletes it.", "The lock: without an expiry nobody gets it any more."},
		{"B's, and C can get the lock while B works.", "The update of B or of C: both wrote 2."},
		{"B gets the lock, and one of the two updates is lost.", "The lock of A, and an update: A and B both wrote 1."},
		{"No: the new master does not know the lock.", "The lock, and an update: A and B both wrote 1."},
		{"No. The counter itself must refuse it.", "An update without the check, and nothing with it."},
	}
	if len(story.Scenes) != len(want) {
		t.Fatalf("the story has %d scenes", len(story.Scenes))
	}
	for i, s := range story.Scenes {
		if s.Choices[s.Right()].Text != want[i][0] || s.After[s.Lost] != want[i][1] {
			t.Errorf("scene %d: right is %q, and lost is %q", i+1, s.Choices[s.Right()].Text, s.After[s.Lost])
		}
		wrong := 0
		for _, c := range s.Choices {
			if c.Wrong != "" {
				wrong++
			}
		}
		if wrong != len(s.Choices)-1 || strings.Count(s.Ends, ". ") > 0 {
			t.Errorf("scene %d has %d wrong choices, and ends with %q", i+1, wrong, s.Ends)
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
